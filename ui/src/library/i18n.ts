import translation from '@openshift-assisted/locales/en/translation.json';
import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';

/** Texts of the library that name hosted services, in words that hold here. */
const OWN: Record<string, string> = {
  "ai:A Red Hat account's pull secret can be found in ": 'What a pull secret is, and where it comes from:',
  'ai:OpenShift Cluster Manager': 'help',
  'ai:Pull secrets are used to download OpenShift Container Platform components and connect clusters to a Red Hat account. ':
    'Hosts download the components of OpenShift with a pull secret. ',
  'ai:Developer preview features are not intended to be used in production environments. The clusters deployed with the developer preview features are considered to be development clusters and are not supported through the Red Hat Customer Portal case management system.':
    'A developer preview is not finished: take it for trials, and not for a cluster that others rely on.',
};

void i18next.use(initReactI18next).init({
  lng: 'en',
  fallbackLng: 'en',
  defaultNS: 'translation',
  nsSeparator: '~',
  keySeparator: false,
  resources: { en: { translation: { ...translation, ...OWN } } },
  interpolation: {
    escapeValue: false,
    format: (value: unknown, format, language) => {
      if (format === 'number' && typeof value === 'number') return new Intl.NumberFormat(language).format(value);
      if (value instanceof Date) return new Intl.DateTimeFormat(language).format(value);
      return String(value);
    },
  },
  react: { useSuspense: false, transSupportBasicHtmlNodes: true },
});
