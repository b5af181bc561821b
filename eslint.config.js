import tseslint from 'typescript-eslint'

/**
 * What each folder may import of the others: inward only. `test/architecture.test.ts` checks the same on every import.
 */
const outsideIsForbidden = (...groups) => [
  'error',
  {
    patterns: groups.map((group) => ({ group: [`**/${group}/**`], message: `imports run one way: not from ${group}` })),
  },
]

const fromOutside = [
  { object: 'Date', property: 'now', message: 'Time is injected: see adapters/node/clock.ts.' },
  { object: 'Math', property: 'random', message: 'Randomness is injected: see adapters/node/ids.ts.' },
]

const packagesFirst = {
  selector: String.raw`ImportDeclaration[source.value=/^\./] ~ ImportDeclaration[source.value=/^[^.]/]`,
  message: 'Packages are imported before files of ours.',
}

/** That of Node 20 answers wrongly after some thousand calls. */
const broken = { object: 'URL', property: 'canParse', message: 'See domain/web-address.ts.' }

export default tseslint.config(
  { ignores: ['dist/', 'data/', 'node_modules/'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['eslint.config.js', 'ava.config.js'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: false },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allow: ['bigint'] }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'no-restricted-properties': ['error', ...fromOutside, broken],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'NewExpression[callee.name="Date"][arguments.length=0]',
          message: 'Time is injected: see adapters/node/clock.ts.',
        },
        packagesFirst,
      ],
      'no-console': 'error',
      'no-restricted-globals': [
        'error',
        { name: 'process', message: 'Only app/main.ts and app/cli know the process.' },
      ],
      eqeqeq: 'error',
      // Prettier breaks code, and leaves comments as they are.
      'max-len': [
        'error',
        { code: 120, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true },
      ],
    },
  },
  {
    files: ['domain/**/*.ts', 'projections/**/*.ts', 'adapters/**/*.ts', 'app/**/*.ts'],
    rules: { 'max-lines-per-function': ['error', 80] },
  },
  {
    files: ['domain/**/*.ts', 'projections/**/*.ts', 'adapters/**/*.ts', 'app/**/*.ts'],
    // An aggregate is one file, however long.
    ignores: ['domain/{account,contact,delivery,engagement,message}.ts'],
    rules: { 'max-lines': ['error', 250] },
  },
  {
    files: ['domain/**/*.ts'],
    rules: { 'no-restricted-imports': outsideIsForbidden('projections', 'adapters', 'app') },
  },
  { files: ['projections/**/*.ts'], rules: { 'no-restricted-imports': outsideIsForbidden('adapters', 'app') } },
  { files: ['adapters/**/*.ts'], rules: { 'no-restricted-imports': outsideIsForbidden('app') } },
  {
    files: ['adapters/node/clock.ts', 'test/**/*.ts', 'app/cli/**/*.ts'],
    rules: {
      'no-restricted-properties': 'off',
      'no-restricted-syntax': ['error', packagesFirst],
      'no-console': 'off',
      'no-restricted-globals': 'off',
    },
  },
  { files: ['app/main.ts'], rules: { 'no-restricted-globals': 'off' } },
  { files: ['*.config.js'], extends: [tseslint.configs.disableTypeChecked] },
)
