import type { ResidenceState } from './residence-state.js'

/** An IANA time zone (`America/Chicago`). */
export type TimeZone = string

type UsPlace = {
  readonly state: ResidenceState
  /** All that its people may live by. */
  readonly zones: ReadonlyArray<TimeZone>
  /** Of the North American Numbering Plan. */
  readonly areaCodes: ReadonlyArray<string>
  /** The first three digits of a ZIP code, or all five. The longer one counts. */
  readonly zips: ReadonlyArray<string>
}

const eastern = 'America/New_York'
const central = 'America/Chicago'
const mountain = 'America/Denver'
const arizona = 'America/Phoenix'
const pacific = 'America/Los_Angeles'

/** Where nothing is known of a contact: the continental US. */
export const continentalZones: ReadonlyArray<TimeZone> = [eastern, central, mountain, arizona, pacific]

const words = (text: string): ReadonlyArray<string> => text.split(' ').filter((word) => word !== '')

/** `320-323 326` names five prefixes. */
const prefixesIn = (text: string): ReadonlyArray<string> =>
  words(text).flatMap((word) => {
    const [first = '', last = first] = word.split('-')
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) =>
      String(Number(first) + index).padStart(first.length, '0'),
    )
  })

const place = (
  state: ResidenceState,
  zones: TimeZone | ReadonlyArray<TimeZone>,
  areaCodes: string,
  zips: string,
): UsPlace => ({
  state,
  zones: typeof zones === 'string' ? [zones] : zones,
  areaCodes: words(areaCodes),
  zips: prefixesIn(zips),
})

/**
 * Area codes by state as NANPA assigns them, three-digit ZIP prefixes by state as USPS does, time zones by 49 CFR part
 * 71 (Arizona keeps no daylight saving time, but the Navajo Nation in it does). Where a boundary crosses an area code
 * or a prefix it has both zones. A table of our own: the packages give one zone for each code, and are wrong where it
 * matters (Gary, Paducah, Evansville and Flagstaff among them). Toll-free, military and other codes that stand for no
 * place are left out.
 */
export const usPlaces: ReadonlyArray<UsPlace> = [
  place('AL', central, '205 251 256 659 938', '350-367 369'),
  // Phenix City and its neighbours live by the clocks of Georgia across the river, whatever the law says.
  place('AL', [central, eastern], '334', '368'),
  // The western Aleutians are an hour behind the rest.
  place('AK', 'America/Anchorage', '', '995-999'),
  place('AK', ['America/Anchorage', 'America/Adak'], '907', '99546 99547'),
  place('AZ', arizona, '480 520 602 623', '850-859 863 864'),
  place('AZ', [arizona, mountain], '928', '860 865'),
  place('AR', central, '327 479 501 870', '716-729'),
  place(
    'CA',
    pacific,
    '209 213 279 310 323 341 350 357 369 408 415 424 442 510 530 559 562 619 626 628 650 657 661 669 707 714 738 747 760 805 ' +
      '818 820 831 837 840 858 909 916 925 949 951',
    '900-961',
  ),
  place('CO', mountain, '303 719 720 748 970 983', '800-816'),
  place('CT', eastern, '203 475 860 959', '060-069'),
  place('DE', eastern, '302', '197-199'),
  place('DC', eastern, '202 771', '200 202-205 569'),
  place(
    'FL',
    eastern,
    '239 305 321 324 352 386 407 561 645 656 689 727 728 754 772 786 813 863 904 941 954',
    '320-323 326-339 341-349',
  ),
  place('FL', central, '', '325'),
  place('FL', [eastern, central], '448 850', '324'),
  place('GA', eastern, '229 404 470 478 678 706 762 770 912 943', '300-319 398 399'),
  place('HI', 'Pacific/Honolulu', '808', '967 968'),
  place('ID', mountain, '', '832-834 837'),
  place('ID', pacific, '', '838'),
  place('ID', [mountain, pacific], '208 986', '835 836'),
  place('IL', central, '217 224 309 312 331 447 464 618 630 708 730 773 779 815 847 861 872', '600-629'),
  place('IN', eastern, '260 317 463 765', '460-462 466-468 470-474 478'),
  place('IN', central, '', '464 477'),
  place('IN', [eastern, central], '219 574 812 930', '463 465 469 475 476 479'),
  place('IA', central, '319 515 563 641 712', '500-528'),
  place('KS', central, '316 913', '660-676 679'),
  place('KS', [central, mountain], '620 785', '677 678'),
  place('KY', eastern, '502 859', '400 402-418'),
  place('KY', central, '', '420-424'),
  place('KY', [eastern, central], '270 364 606', '401 425-427'),
  place('LA', central, '225 318 337 457 504 985', '700-714'),
  place('ME', eastern, '207', '039-049'),
  place('MD', eastern, '227 240 301 410 443 667', '206-219'),
  place('MA', eastern, '339 351 413 508 617 774 781 857 978', '010-027 055'),
  place('MI', eastern, '231 248 269 313 517 586 616 679 734 810 947 989', '480-497'),
  place('MI', [eastern, central], '906', '498 499'),
  place('MN', central, '218 320 507 612 651 763 924 952', '550-567'),
  place('MS', central, '228 471 601 662 769', '386-397'),
  place('MO', central, '235 314 417 557 573 636 660 816 975', '630-658'),
  place('MT', mountain, '406', '590-599'),
  place('NE', central, '402 531', '680-689'),
  place('NE', mountain, '', '693'),
  place('NE', [central, mountain], '308', '690-692'),
  place('NV', pacific, '702 725', '889-898'),
  place('NV', [pacific, mountain], '775', '89883'),
  place('NH', eastern, '603', '030-038'),
  place('NJ', eastern, '201 551 609 640 732 848 856 862 908 973', '070-089'),
  place('NM', mountain, '505 575', '870-884'),
  place(
    'NY',
    eastern,
    '212 315 329 332 347 363 516 518 585 607 624 631 646 680 716 718 838 845 914 917 929 934',
    '005 100-149',
  ),
  place('NC', eastern, '252 336 472 704 743 828 910 919 980 984', '270-289'),
  place('ND', central, '', '580-584 587'),
  place('ND', [central, mountain], '701', '585 586 588 58757'),
  place('OH', eastern, '216 220 234 283 326 330 380 419 436 440 513 567 614 740 937', '430-459'),
  place('OK', central, '405 539 572 580 918', '730-732 734-749'),
  place('OR', pacific, '503 971', '970-978'),
  place('OR', [pacific, mountain], '458 541', '979'),
  place('PA', eastern, '215 223 267 272 412 445 484 570 582 610 717 724 814 835 878', '150-196'),
  place('RI', eastern, '401', '028 029'),
  place('SC', eastern, '803 821 839 843 854 864', '290-299'),
  place('SD', central, '', '570-574'),
  place('SD', mountain, '', '577'),
  place('SD', [central, mountain], '605', '575 576'),
  place('TN', eastern, '865', '374 376 378 379'),
  place('TN', central, '615 629 731 901 931', '370-372 375 380-385'),
  place('TN', [eastern, central], '423 729', '373 377'),
  place(
    'TX',
    central,
    '210 214 254 281 325 346 361 409 430 432 469 512 621 682 713 726 737 806 817 830 832 903 936 940 945 956 972 979',
    '733 750-797',
  ),
  place('TX', mountain, '915', '799 885'),
  place('TX', [central, mountain], '', '798'),
  place('UT', mountain, '385 435 801', '840-847'),
  place('VT', eastern, '802', '050-054 056-059'),
  place('VA', eastern, '276 434 540 571 686 703 757 804 826 948', '201 220-246'),
  place('WA', pacific, '206 253 360 425 509 564', '980-994'),
  place('WV', eastern, '304 681', '247-268'),
  place('WI', central, '262 274 353 414 534 608 715 920', '530-549'),
  place('WY', mountain, '307', '820-831'),
  place('PR', 'America/Puerto_Rico', '787 939', '006 007 009'),
  place('VI', 'America/Puerto_Rico', '340', '008'),
  place('GU', 'Pacific/Guam', '671', '969'),
  place('MP', 'Pacific/Guam', '670', '96950-96952'),
  place('AS', 'Pacific/Pago_Pago', '684', '96799'),
]
