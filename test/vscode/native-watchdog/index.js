'use strict';
exports.start = () => {};
exports.exit = (code) => process.exit(code);
