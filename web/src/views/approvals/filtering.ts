/** Which answered questions fit the filters. Pure. */
import type { Verdict } from '../shared/api';

export interface WantedVerdicts {
  outcome: string;
  session: string;
  text: string;
}

export function fitsVerdict(verdict: Verdict, wanted: WantedVerdicts): boolean {
  const { question, outcome } = verdict;
  const text = wanted.text.trim().toLowerCase();
  return (
    (wanted.outcome === '' || outcome === wanted.outcome) &&
    (wanted.session === '' || question.session === wanted.session) &&
    (text === '' || `${question.command}\n${question.line}\n${verdict.by}\n${verdict.note}`.toLowerCase().includes(text))
  );
}
