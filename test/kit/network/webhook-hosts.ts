/** Addresses that a webhook may not lead to, by what they are. */
export const forbiddenAddresses: Readonly<Record<string, ReadonlyArray<string>>> = {
  'this network': ['0.0.0.0', '0.0.0.1', '0.255.255.255'],
  private: [
    ...['10.0.0.0', '10.1.2.3', '10.255.255.255'],
    ...['172.16.0.0', '172.20.10.1', '172.31.255.255'],
    ...['192.168.0.0', '192.168.1.1', '192.168.255.255'],
  ],
  'carrier-grade NAT': ['100.64.0.0', '100.100.100.200', '100.127.255.255'],
  loopback: ['127.0.0.0', '127.0.0.1', '127.0.0.53', '127.1.1.1', '127.255.255.255'],
  'link-local': ['169.254.0.0', '169.254.169.254', '169.254.170.2', '169.254.255.255'],
  'IETF protocols': ['192.0.0.0', '192.0.0.8', '192.0.0.9', '192.0.0.170', '192.0.0.192', '192.0.0.255'],
  documentation: ['192.0.2.0', '192.0.2.255', '198.51.100.0', '198.51.100.255', '203.0.113.0', '203.0.113.255'],
  'AS112 and AMT': ['192.31.196.0', '192.31.196.255', '192.52.193.1', '192.175.48.1', '192.175.48.255'],
  '6to4 relays': ['192.88.99.0', '192.88.99.1', '192.88.99.2'],
  benchmarking: ['198.18.0.0', '198.18.0.1', '198.19.255.255'],
  multicast: ['224.0.0.0', '224.0.0.1', '232.1.1.1', '233.252.0.1', '239.255.255.250', '239.255.255.255'],
  reserved: ['240.0.0.0', '250.1.2.3', '255.255.255.254'],
  broadcast: ['255.255.255.255'],
  'host agent of a cloud': ['168.63.129.16'],

  'unspecified, IPv6': ['::', '0:0:0:0:0:0:0:0'],
  'loopback, IPv6': ['::1', '0:0:0:0:0:0:0:1', '::0.0.0.1'],
  'IPv4-mapped': [
    ...['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:192.168.0.1', '::ffff:169.254.169.254'],
    ...['::ffff:0.0.0.0', '::ffff:100.64.0.1', '::ffff:224.0.0.1', '::ffff:255.255.255.255', '::ffff:168.63.129.16'],
    '0:0:0:0:0:ffff:127.0.0.1',
  ],
  'IPv4-compatible': ['::127.0.0.1', '::7f00:1', '::10.0.0.1', '::8.8.8.8', '::2', '::ffff'],
  'IPv4-translated': ['::ffff:0:127.0.0.1', '::ffff:0:10.0.0.1', '::ffff:0:8.8.8.8'],
  NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::10.0.0.1', '64:ff9b::169.254.169.254', '64:ff9b::0.0.0.0'],
  'NAT64 of a site': ['64:ff9b:1::', '64:ff9b:1::127.0.0.1', '64:ff9b:1:7f00:0:100::', '64:ff9b:1:ffff::8.8.8.8'],
  'beside NAT64': ['64:ff9a::8.8.8.8', '64:ff9b:0:0:1::8.8.8.8', '64:ff9b:2::1'],
  discard: ['100::', '100::1', '100::ffff:ffff:ffff:ffff'],
  'dummy prefix': ['100:0:0:1::', '100:0:0:1::1'],
  Teredo: ['2001::', '2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:0:7f00:1::'],
  'IETF protocols, IPv6': [
    ...['2001:1::1', '2001:1::2', '2001:2::1', '2001:3::1', '2001:4:112::1', '2001:5::1', '2001:10::1'],
    ...['2001:1f:ffff::', '2001:20::1', '2001:2f:ffff::', '2001:30::1', '2001:100::1', '2001:1ff:ffff::1'],
  ],
  'documentation, IPv6': ['2001:db8::', '2001:db8::1', '2001:db8:ffff::1', '3fff::', '3fff::1', '3fff:fff:ffff::1'],
  '6to4': ['2002::', '2002:7f00:1::', '2002:7f00:1::1', '2002:a00:1::1', '2002:c0a8:101::1', '2002:808:808::1'],
  'AS112, IPv6': ['2620:4f:8000::', '2620:4f:8000::1', '2620:4f:8000:ffff::1'],
  'returned 6bone': ['3ffe::1', '3ffe:ffff::1'],
  'segment routing': ['5f00::', '5f00::1', '5f00:ffff::1'],
  'not given out': [
    '200::1',
    '400::1',
    '1000::1',
    '1fff:ffff::1',
    '4000::1',
    '6000::1',
    '8000::1',
    'c000::1',
    'e000::1',
  ],
  'unique local': ['fc00::', 'fc00::1', 'fd00::1', 'fd00:ec2::254', 'fdff:ffff::1'],
  'link-local, IPv6': ['fe80::', 'fe80::1', 'fe80::a9fe:a9fe', 'febf:ffff::1'],
  'site-local': ['fec0::', 'fec0::1', 'feff:ffff::1'],
  'multicast, IPv6': ['ff00::', 'ff01::1', 'ff02::1', 'ff02::fb', 'ff05::2', 'ff0e::1', 'ffff::1'],
  ISATAP: [
    ...['2400::5efe:127.0.0.1', '2400::5efe:7f00:1', '2400::200:5efe:10.0.0.1', '2a00:1450::5efe:192.168.0.1'],
    ...['2606:4700::100:5efe:169.254.169.254', '2606:4700::300:5efe:0.0.0.0', 'fe80::5efe:8.8.8.8'],
  ],
}

/** What a name server may answer and a URL can't hold. */
export const forbiddenAnswers: ReadonlyArray<string> = [
  ...['fe80::1%eth0', 'fe80::1%1', '2606:4700:4700::1111%eth0', '::1%lo', 'fe80::1%eth0.1'],
  ...['127.1', '0177.0.0.1', '2130706433', '0x7f000001', '127.0.0.1.', '8.8.8', 'localhost', ''],
]

/** Other ways to write a host, as a URL takes them; each is turned into an address that is forbidden. */
const forbiddenSpellings: ReadonlyArray<string> = [
  // Numbers of other bases and with fewer parts.
  ...['2130706433', '0x7f000001', '0X7F000001', '017700000001', '127.1', '127.0.1', '0x7f.1', '0177.1', '0177.0.0.01'],
  ...['0x7f.0x0.0x0.0x1', '00000177.0.0.1', '127.0x1', '0', '0x0', '00', '0.0', '10.1', '0xa.1', '012.1', '167772161'],
  ...['192.168.257', '192.11010049', '0xc0a80101', '3232235777', '0xa9fea9fe', '2852039166', '0251.0376.0251.0376'],
  ...['169.254.43518', '127.0.0.0x', '0xA9.0xFE.0xA9.0xFE', '4294967295', '0xffffffff'],
  // Dots at the end.
  ...['127.0.0.1.', '127.1.', '2130706433.', '10.0.0.1.', '169.254.169.254.'],
  // Percent-encoding, and characters that stand for others.
  ...['%31%32%37.0.0.1', '127%2e0%2e0%2e1', '%30', '１２７.0.0.1', '127。0。0。1', '127．0．0．1', '127｡0｡0｡1'],
  ...['①②⑦.0.0.1'],
  ...['１６９.２５４.１６９.２５４', '0ⅹ7f.1', '127.0.0.\u00ad1', '12\u200b7.0.0.1', '127.\t0.0.1', '127.0.0.\n1'],
  // Brackets.
  ...['[0:0:0:0:0:0:0:1]', '[0000:0000:0000:0000:0000:0000:0000:0001]', '[::FFFF:127.0.0.1]', '[::ffff:7F00:0001]'],
  ...['[::127.0.0.1]', '[0::0]', '[FE80::1]', '[Fd00::1]', '[64:FF9B::127.0.0.1]', '[2002:7f00:1::]'],
]

/** As the host of a URL. */
export const asHost = (address: string): string => (address.includes(':') ? `[${address}]` : address)

/** Every way in which a URL writes a forbidden address. */
export const forbiddenHosts: ReadonlyArray<string> = [
  ...Object.values(forbiddenAddresses).flat().map(asHost),
  ...forbiddenSpellings,
]

/** Names that are refused without being looked up. */
export const forbiddenNames: ReadonlyArray<string> = [
  ...['localhost', 'LOCALHOST', 'localhost.', 'localhost..', 'LocalHost', 'ｌｏｃａｌｈｏｓｔ', 'local%68ost'],
  ...['ⓛocalhost'],
  ...['local\u00adhost', 'foo.localhost', 'foo.localhost.', 'a.b.localhost', 'localhost.localhost', '*.localhost'],
  ...['intranet', 'intranet.', 'crm', 'db', 'metadata', 'kubernetes', 'host-1', 'münchen', 'a'],
  ...['printer.local', 'printer.local.', 'PRINTER.LOCAL', 'a.b.local', 'ｐrinter.ｌocal', 'printer。local'],
  ...['metadata.google.internal', 'metadata.google.internal.', 'host.docker.internal', 'x.internal', 'x.INTERNAL'],
  ...['router.home.arpa', 'home.arpa', 'home.arpa.', 'abcdefghijklmnop.onion', 'x.y.onion.'],
]

/** Texts that are no webhook's URL, whatever they lead to. */
export const forbiddenTexts: ReadonlyArray<string> = [
  ...['', ' ', 'hook', '/hook', '//example.com/hook', 'example.com/hook', 'example.com:80/hook', 'http:', 'http://'],
  ...['http:///'],
  ...['ftp://example.com/', 'file:///etc/passwd', 'data:text/plain,ok', 'javascript:alert(1)', 'ws://example.com/'],
  ...['gopher://example.com/', 'unix:///var/run/docker.sock', 'https+unix://x/', 'mailto:a@example.com', 'about:blank'],
  ...['http://user@example.com/', 'http://user:secret@example.com/', 'http://:secret@example.com/'],
  ...['https://%00@a.com/'],
  ...['http://example.com@127.0.0.1/', 'http://127.0.0.1:80@example.com/', 'http://[::1', 'http://::1/'],
  ...['http://[::1]x/'],
  ...['http://[fe80::1%25eth0]/', 'http://[fe80::1%eth0]/', 'http://[::ffff:127.0.0.256]/', 'http://[127.0.0.1]/'],
  ...['http://256.256.256.256/', 'http://1.2.3.4.5/', 'http://0x100000000/', 'http://exa mple.com/'],
  ...['http://example.com:99999/', 'http://example.com:-1/', 'http://a<b.com/', 'http://a%00b.com/', 'http://%/'],
]

/** Addresses that anybody may have, many beside a range that is special. */
export const publicAddresses: ReadonlyArray<string> = [
  ...['1.0.0.0', '1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '93.184.215.14', '100.63.255.255', '100.128.0.0'],
  ...['126.255.255.255', '128.0.0.0', '168.63.129.15', '168.63.129.17', '169.253.255.255', '169.255.0.0'],
  ...['172.15.255.255', '172.32.0.0', '191.255.255.255', '192.0.1.0', '192.0.1.255', '192.0.3.0', '192.31.195.255'],
  ...['192.31.197.0', '192.52.192.255', '192.52.194.0', '192.88.98.255', '192.88.100.0', '192.167.255.255'],
  ...['192.169.0.0', '192.175.47.255', '192.175.49.0', '198.17.255.255', '198.20.0.0', '198.51.99.255'],
  ...['198.51.101.0', '203.0.112.255', '203.0.114.0', '223.255.255.255'],
  ...['2001:200::1', '2001:4860:4860::8888', '2001:db7:ffff::1', '2001:db9::1', '2003::1', '2400::1', '2600::1'],
  ...['2606:4700:4700::1111', '2620:4f:7fff::1', '2620:4f:8001::1', '2620:fe::fe', '2a00:1450:4001::200e', '2c0f::1'],
  ...['3fff:1000::1', '2400::5efe:8.8.8.8', '2400::5efd:7f00:1', '2400::400:5efe:7f00:1'],
  ...['::ffff:8.8.8.8', '::ffff:808:808', '64:ff9b::8.8.8.8', '64:ff9b::808:808'],
]

/** URLs whose host is an address that anybody may have, or a name that leads to one. */
export const publicUrls: ReadonlyArray<string> = [
  ...['http://example.com', 'https://example.com/', 'https://example.com:8443/a/b?c=d#e', 'HTTPS://EXAMPLE.COM/'],
  ...['https://example.com./', 'https://münchen.example.com/', 'https://xn--mnchen-3ya.example.com/'],
  ...['https://a.b.c.d.e/'],
  ...['https://localhost.example.com/', 'https://local.example.com/', 'https://notlocal.com/x'],
  ...['https://internal.example.com/', 'https://example.com/localhost', 'https://example.com/?u=http://127.0.0.1/'],
  ...['https://onion.com/', 'https://home-arpa.com/', 'https://mylocalhost.com/', 'https://127.0.0.1.example.com/'],
  ...['https://8.8.8.8/hook', 'http://8.8.2056/', 'http://134744072/', 'http://0x08.8.8.8/'],
  ...['http://[2606:4700:4700::1111]:8080/'],
  ...['http:example.com/hook', 'http:\\\\example.com\\hook', ' https://example.com/ ', 'https://@example.com/'],
]
