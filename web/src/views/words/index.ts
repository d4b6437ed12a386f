/** The words of the views, in the language of the page. They are loaded with the first view. */
import { language } from '../../i18n';
import { en, type Words } from './en';
import { zh } from './zh';

export const w: Words = language === 'zh' ? zh : en;
export type { Words };
