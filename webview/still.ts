import { selection } from 'd3-selection';

// Stands for d3-transition, which d3-zoom wants so as to stop what glides: nothing in our pictures moves by itself.

export function interrupt(): void {
  // there is nothing to stop
}

selection.prototype.interrupt = function () {
  return this;
};
