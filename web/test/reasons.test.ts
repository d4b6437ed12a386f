import { describe, expect, test } from 'vitest';
import reasons from '../src/views/words/reasons.zh.json';
import { en } from '../src/views/words/en';
import { translator } from '../src/views/words/templates';
import { zh } from '../src/views/words/zh';

describe('reasons in Chinese', () => {
  test.each([
    ['deletes files recursively without asking', '不经询问递归删除文件'],
    ['deletes /: a system or home directory', '删除 /：系统目录或主目录'],
    ['reads ~/.ssh/id_rsa, which holds secrets', '读取 ~/.ssh/id_rsa（含有机密）'],
    ['writes to /etc/hosts, part of the system', '写入 /etc/hosts（系统的一部分）'],
    ['runs rm with the rights of another user', '以其他用户的权限运行 rm'],
    ['"$x" may be an option of rm', '"$x" 可能是 rm 的选项'],
    ['defines f, which changes what later commands mean', '定义 f（会改变后续命令的含义）'],
    ['and 12 more', '以及另外 12 条'],
  ])('%s', (text, words) => expect(zh.reasonWords(text)).toBe(words));

  test('what a rule or a person wrote stays', () => {
    expect(zh.reasonWords('Ask Ann before.')).toBe('Ask Ann before.');
    expect(zh.reasonWords('')).toBe('');
    expect(en.reasonWords('deletes files')).toBe('deletes files');
  });

  test('names with patterns or places in them are only names', () => {
    expect(zh.reasonWords('deletes {0} $& $1')).toBe('删除 {0} $& $1');
    expect(zh.reasonWords('deletes a\nb')).toBe('删除 a\nb');
  });

  test('each sentence has the same places in both languages', () => {
    const places = (text: string) => [...text.matchAll(/\{\d\}/g)].map(String).sort();
    for (const [sentence, words] of Object.entries(reasons)) expect(places(words), sentence).toEqual(places(sentence));
  });

  test('the sentence with most words of its own counts', () => {
    const translate = translator({ 'runs {0}': 'A {0}', 'runs {0} here': 'B {0}' }, () => false);
    expect(translate('runs x here')).toBe('B x');
    expect(translate('runs x')).toBe('A x');
  });
});
