import {
  Button,
  Masthead,
  MastheadBrand,
  MastheadContent,
  MastheadMain,
  Nav,
  NavItem,
  NavList,
  Toolbar,
  ToolbarContent,
  ToolbarGroup,
  ToolbarItem,
} from '@patternfly/react-core';
import { MoonIcon, SunIcon } from '@patternfly/react-icons';
import { useState } from 'react';
import { Link, useLocation } from 'react-router-dom-v5-compat';
import { useSession } from '../session/Session';
import { isDark, toggleTheme } from './theme';

const PAGES: { to: string; text: string; isForAdmins?: boolean; isForEditors?: boolean }[] = [
  { to: '/clusters', text: 'Clusters', isForEditors: true },
  { to: '/live', text: 'Live' },
  { to: '/images', text: 'Images' },
  { to: '/machines', text: 'Machines', isForAdmins: true },
  { to: '/help', text: 'Help' },
];

export function AppMasthead() {
  const { me, isAdmin, mayChange, logOut } = useSession();
  const { pathname } = useLocation();
  const [dark, setDark] = useState(isDark);
  const pages = PAGES.filter((page) => (isAdmin || !page.isForAdmins) && (mayChange || !page.isForEditors));
  const change = () => {
    toggleTheme();
    setDark(isDark());
  };
  return (
    <Masthead inset={{ default: 'insetSm' }}>
      <MastheadMain>
        <MastheadBrand>
          <Link to="/clusters" className="app-brand">
            assisted
          </Link>
        </MastheadBrand>
      </MastheadMain>
      <MastheadContent>
        <Toolbar isStatic isFullHeight>
          <ToolbarContent>
            <ToolbarItem isOverflowContainer>
              <Nav variant="horizontal" aria-label="Pages">
                <NavList>
                  {pages.map(({ to, text }) => (
                    <NavItem key={to} isActive={pathname.startsWith(to)}>
                      <Link to={to}>{text}</Link>
                    </NavItem>
                  ))}
                </NavList>
              </Nav>
            </ToolbarItem>
            <ToolbarGroup align={{ default: 'alignEnd' }}>
              <ToolbarItem>
                <Button
                  variant="plain"
                  aria-label={dark ? 'Light colours' : 'Dark colours'}
                  icon={dark ? <SunIcon /> : <MoonIcon />}
                  onClick={change}
                />
              </ToolbarItem>
              {me && (
                <ToolbarItem>
                  <span className="app-user">
                    {me.user.name} ({me.role})
                  </span>
                  <Button variant="link" onClick={logOut}>
                    Log out
                  </Button>
                </ToolbarItem>
              )}
            </ToolbarGroup>
          </ToolbarContent>
        </Toolbar>
      </MastheadContent>
    </Masthead>
  );
}
