import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';

const LIBRARY = '/@openshift-assisted/ui-lib/lib/';
const LINKS = '/common/config/docs_links.ts';

/** Words of the library that name hosted services, and what holds here. */
const WORDS: [RegExp, string][] = [
  [/Assisted Installer's service/g, 'this service'],
  [/Assisted Installer cluster/g, 'cluster'],
  [/Create new assisted cluster/g, 'Create a cluster'],
  [/the Assisted Installer/g, 'assisted'],
  [/Assisted Installer/g, 'assisted'],
  [/OpenShift Cluster Manager(?!":)/g, 'this service'],
  [/console\.redhat\.com\/openshift/g, 'the help of this service'],
  [/your Red Hat account's pull secret/g, 'the pull secret as it was given to you'],
];

const TROUBLESHOOTING = JSON.stringify(fileURLToPath(new URL('../src/library/Troubleshooting.tsx', import.meta.url)));

/** Parts of the library that are of use with hosted services only, and what takes their place. */
const PARTS: { file: string; part: RegExp; own: string }[] = [
  {
    file: '/clusterConfiguration/DownloadIso.tsx',
    part: /<StackItem>\s*<Button(?:(?!<\/StackItem>)[\s\S])*Cisco Intersight[\s\S]*?<\/StackItem>/,
    own: '',
  },
  {
    file: '/clusterConfiguration/DiscoveryTroubleshootingModal.tsx',
    part: /export const DiscoveryTroubleshootingModalContent = [\s\S]*?\n\};\n/,
    own: `import { Troubleshooting as DiscoveryTroubleshootingModalContent } from ${TROUBLESHOOTING};
export { DiscoveryTroubleshootingModalContent };
`,
  },
];

/**
 * Leads all links of the library to a page of this UI, and takes the names of hosted services out of its texts: nobody here may
 * reach them, or want to. Texts that are translated have keys, which stay; `src/library/i18n.ts` has words for those.
 */
export function localTexts(): Plugin {
  let links = 0;
  const replaced = new Set<string>();
  return {
    name: 'local-texts',
    enforce: 'pre',
    transform(code, id) {
      const path = id.split('?')[0] ?? '';
      if (!path.includes(LIBRARY) || !/\.tsx?$/.test(path)) return null;
      if (path.endsWith(LINKS)) {
        return code.replace(/https:\/\/[^'"`]+/g, () => {
          links += 1;
          return '/help';
        });
      }
      const found = PARTS.find(({ file, part }) => path.endsWith(file) && part.test(code));
      if (found) replaced.add(found.file);
      const text = found ? code.replace(found.part, found.own) : code;
      const lines = text.split('\n').map((line) => (line.includes('ai:') ? line : reworded(line)));
      return lines.join('\n');
    },
    buildEnd(error) {
      if (error) return;
      if (links === 0) {
        this.error(`${LINKS} has no links: the library has moved them, and they would lead outside`);
      }
      const missing = PARTS.filter(({ file }) => !replaced.has(file));
      if (missing.length > 0) {
        this.error(`parts that name hosted services are not where they were: ${missing.map(({ file }) => file).join(', ')}`);
      }
    },
  };
}

function reworded(line: string): string {
  return WORDS.reduce((text, [words, own]) => text.replace(words, own), line);
}
