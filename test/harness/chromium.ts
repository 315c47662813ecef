import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Where systems keep Chromium, or Chrome. The one without a window comes first: it opens a workbench for a third less computing. */
const PLACES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** What Chromium needs where there is neither a display nor a network. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** What it needs to draw with a GPU where there is no display. */
const GPU = [
  '--disable-gpu-sandbox',
  '--ignore-gpu-blocklist',
  '--enable-gpu-rasterization',
  '--use-angle=vulkan',
  '--enable-features=Vulkan',
  '--disable-vulkan-surface',
];

/**
 * Starts Chromium without a window: the one that CHROMIUM names, or the system's. It draws with the processor unless `gpu` asks
 * for more.
 * @throws Error where there is none, with what to do
 */
export async function launchChromium({ gpu = false } = {}): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? PLACES.find((path) => existsSync(path));
  if (executablePath === undefined || !existsSync(executablePath)) {
    const missing = executablePath === undefined ? 'There is no Chromium here' : `There is no ${executablePath}`;
    throw new Error(`${missing}. Install it (apt-get install chromium-headless-shell), or name another in CHROMIUM.`);
  }
  return chromium.launch({ executablePath, headless: true, args: [...ARGUMENTS, ...(gpu ? GPU : ['--disable-gpu'])] });
}
