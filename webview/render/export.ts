/** The form of an exported picture. */
export type ExportFormat = 'svg' | 'png';

/** An SVG text as a PNG at twice its size, in base64; on white, whatever the colours of the system. */
export async function pngOf(svg: string): Promise<string> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg.replace(/<style>[^<]*<\/style>/, ''))}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = image.width * 2;
  canvas.height = image.height * 2;
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL('image/png').replace(/^[^,]*,/, '');
}
