import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Plugin } from 'vite';

interface Package {
  name: string;
  version: string;
  license?: string;
}

/** Writes `notices.txt`: name, version and licence of each package in the bundle, with the text of its licence. */
export function notices(): Plugin {
  return {
    name: 'notices',
    apply: 'build',
    async generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((item) => (item.type === 'chunk' ? Object.keys(item.modules) : []));
      const folders = new Set(modules.map((id) => packageFolder(id.replace(/^\0/, '').split('?')[0] ?? '')));
      const texts = await Promise.all([...folders].filter((folder) => folder !== null).map(notice));
      const source = [...new Set(texts)].sort().join(`\n${'-'.repeat(80)}\n`);
      this.emitFile({ type: 'asset', fileName: 'notices.txt', source });
    },
  };
}

/** The folder of the package that a module is of; none for those of this project. */
function packageFolder(path: string): string | null {
  if (!path.includes('/node_modules/')) return null;
  for (let folder = dirname(path); folder.includes('/node_modules/'); folder = dirname(folder)) {
    const name = folder.split('/node_modules/').pop() ?? '';
    const isRoot = name.split('/').length === (name.startsWith('@') ? 2 : 1);
    if (isRoot && existsSync(join(folder, 'package.json'))) return folder;
  }
  return null;
}

async function notice(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Package;
  const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|copying|notice)(\.|$)/i.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return [`${name} ${version} (${license ?? 'see its text'})`, ...texts.map((text) => text.trim())].join('\n\n');
}
