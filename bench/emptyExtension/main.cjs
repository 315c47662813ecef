// An extension that does nothing: the least that any activation takes.
exports.activate = () => undefined;
