import { Page, PageSection, SkipToContent } from '@patternfly/react-core';
import { BrowserRouter, Navigate, Route, Routes } from 'react-router-dom-v5-compat';
import { Boundary } from '../common/Boundary';
import { HelpPage } from '../help/HelpPage';
import { ImagesPage } from '../images/ImagesPage';
import { LibraryCluster, LibraryClusters, LibraryNewCluster, LibraryProvider } from '../library/Library';
import { MachinesPage } from '../machines/MachinesPage';
import { LiveListPage } from '../live/LiveListPage';
import { LivePage } from '../live/LivePage';
import { Session } from '../session/Session';
import { AppMasthead } from './AppMasthead';

const MAIN = 'main-content';

export function App() {
  return (
    <BrowserRouter>
      <Session>
        <LibraryProvider>
          <Page
            masthead={<AppMasthead />}
            mainContainerId={MAIN}
            mainAriaLabel="Content"
            skipToContent={<SkipToContent href={`#${MAIN}`}>Skip to content</SkipToContent>}
          >
            <Boundary>
              <Routes>
                <Route path="/" element={<Navigate to="/clusters" replace />} />
                {/* The library's pages lead to each other by their places in this tree. */}
                <Route path="/clusters">
                  <Route index element={<LibraryClusters />} />
                  <Route path="~new" element={<LibraryNewCluster />}>
                    <Route path=":clusterId" element={<LibraryNewCluster />} />
                  </Route>
                  <Route path=":clusterId" element={<LibraryCluster />} />
                </Route>
                <Route path="/cluster-list" element={<Navigate to="/clusters" replace />} />
                <Route path="/live" element={<LiveListPage />} />
                <Route path="/live/:clusterId" element={<LivePage />} />
                <Route path="/live/:clusterId/:tab" element={<LivePage />} />
                <Route path="/images" element={<ImagesPage />} />
                <Route path="/machines" element={<MachinesPage />} />
                <Route path="/help" element={<HelpPage />} />
                <Route path="*" element={<PageSection>There is no such page.</PageSection>} />
              </Routes>
            </Boundary>
          </Page>
        </LibraryProvider>
      </Session>
    </BrowserRouter>
  );
}
