import { Component, type ReactNode } from 'react';
import { textOf } from '../api/request';
import { Problem } from './Problem';

interface BoundaryState {
  error?: unknown;
}

/** Shows what a page broke with, instead of nothing. */
export class Boundary extends Component<{ children: ReactNode }, BoundaryState> {
  override state: BoundaryState = {};

  static getDerivedStateFromError(error: unknown): BoundaryState {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    const reload = () => window.location.reload();
    return <Problem title="This page is broken" text={textOf(error)} action={{ text: 'Load it again', run: reload }} />;
  }
}
