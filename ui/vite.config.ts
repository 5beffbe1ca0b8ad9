import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react-swc';
import { defineConfig } from 'vite';
import { compressed } from './build/compressed';
import { localTexts } from './build/localTexts';
import { notices } from './build/notices';

// The only variables that the library reads.
const environment = {
  'process.env.AIUI_APP_VERSION': JSON.stringify('assisted'),
  'process.env.AIUI_APP_CLUSTER_PERMISSIONS': 'undefined',
  'process.env.TRANSLATION_NAMESPACE': 'undefined',
};

export default defineConfig({
  plugins: [localTexts(), react(), notices(), compressed()],
  define: environment,
  resolve: {
    // The library's TypeScript: its CommonJS build is half as large again.
    conditions: ['source', 'module', 'browser', 'production'],
    // The editor that it names is fetched from another origin at run time.
    alias: { '@monaco-editor/react': fileURLToPath(new URL('src/library/Editor.tsx', import.meta.url)) },
  },
  build: {
    outDir: process.env.ASSISTED_UI_DIST ?? 'dist',
    emptyOutDir: true,
    target: 'es2022',
    chunkSizeWarningLimit: 2500,
    assetsInlineLimit: 0,
  },
  server: { proxy: { '/api': process.env.ASSISTED_URL ?? 'http://127.0.0.1:8090' } },
});
