'use strict';
// The git extension's copying of files in plain JavaScript: it needs it for work trees only, but does not start without it.
const { promises } = require('node:fs');

module.exports = {
  copyFile: (from, to) => promises.copyFile(from, to),
  cp: (from, to, options) => promises.cp(from, to, options),
};
