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

/**
 * Leads all links of the library to a page of this UI, and takes the names of hosted services out of its texts: nobody here may
 * reach them, or want to. Texts that are translated have keys, which stay; `src/library/i18n.ts` has words for those.
 */
export function localTexts(): Plugin {
  let links = 0;
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
      const lines = code.split('\n').map((line) => (line.includes('ai:') ? line : reworded(line)));
      return lines.join('\n');
    },
    buildEnd(error) {
      if (!error && links === 0) {
        this.error(`${LINKS} has no links: the library has moved them, and they would lead outside`);
      }
    },
  };
}

function reworded(line: string): string {
  return WORDS.reduce((text, [words, own]) => text.replace(words, own), line);
}
