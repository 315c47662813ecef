/// <reference lib="webworker" />
import { BrowserMessageReader, BrowserMessageWriter, createConnection } from 'vscode-languageserver/browser';
import { serve } from './server';

// Speaks with the extension that started this worker, in the web.
serve(createConnection(new BrowserMessageReader(self), new BrowserMessageWriter(self)));
