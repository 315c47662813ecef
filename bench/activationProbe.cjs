// Called by the editor as its tests (bench/activation.mjs): how long the activation of an extension takes, in milliseconds.
const { writeFileSync } = require('node:fs');
const { setTimeout: pause } = require('node:timers/promises');
const { extensions } = require('vscode');

/** So long a window that was just opened is busy with itself. Milliseconds. */
const OPENING = 3000;

exports.run = async () => {
  const extension = extensions.getExtension(process.env.EXTENSION);
  if (extension.isActive) {
    throw new Error('the extension is active although nobody asked for it');
  }
  await pause(OPENING);
  const start = performance.now();
  await extension.activate();
  writeFileSync(process.env.TEST_OUTPUT, `${performance.now() - start}\n`);
};
