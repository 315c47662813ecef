'use strict';
// The editor's file logger in plain JavaScript: a line a message, appended as it comes.
const { appendFileSync, promises } = require('node:fs');
const { dirname } = require('node:path');

const LEVELS = ['trace', 'debug', 'info', 'warning', 'error', 'critical'];
const METHODS = ['trace', 'debug', 'info', 'warn', 'error', 'critical'];

class Logger {
  #file;
  #level = 2;
  #plain = false;

  constructor(_type, _name, file) {
    this.#file = file;
    for (const [level, method] of METHODS.entries()) {
      this[method] = (message) => this.#write(level, message);
    }
  }

  getLevel() {
    return this.#level;
  }

  setLevel(level) {
    this.#level = level;
  }

  clearFormatters() {
    this.#plain = true;
  }

  setPattern() {}
  flush() {}
  drop() {}

  #write(level, message) {
    if (level >= this.#level) {
      const line = this.#plain ? message : `${new Date().toISOString()} [${LEVELS[level]}] ${message}\n`;
      try {
        appendFileSync(this.#file, line);
      } catch {
        // the folder of the logs is gone: the window was closed
      }
    }
  }
}

async function create(type, name, file) {
  await promises.mkdir(dirname(file), { recursive: true });
  return new Logger(type, name, file);
}

// one assignment a name: the editor imports these by name, and only so does Node see them
exports.version = 0;
exports.Logger = Logger;
exports.setLevel = () => {};
exports.setFlushOn = () => {};
exports.createRotatingLogger = (name, file) => create('rotating', name, file);
exports.createAsyncRotatingLogger = (name, file) => create('rotating_async', name, file);
