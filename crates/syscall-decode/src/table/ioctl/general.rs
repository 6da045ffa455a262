//! Requests of every file, and those of terminals.

use super::*;

pub(super) static ARGUMENTS: Family = &[
    (
        "TCGETS TIOCGLCKTRMIOS",
        Special(S::Terminal(Out, TermiosVersion::Usual)),
    ),
    (
        "TCSETS TCSETSW TCSETSF TIOCSLCKTRMIOS",
        Special(S::Terminal(In, TermiosVersion::Usual)),
    ),
    ("TCGETS2", Special(S::Terminal(Out, TermiosVersion::Speeds))),
    (
        "TCSETS2 TCSETSW2 TCSETSF2",
        Special(S::Terminal(In, TermiosVersion::Speeds)),
    ),
    ("TCGETA", Special(S::Terminal(Out, TermiosVersion::Old))),
    (
        "TCSETA TCSETAW TCSETAF",
        Special(S::Terminal(In, TermiosVersion::Old)),
    ),
    (
        "TCSBRK TCXONC TCFLSH TIOCSCTTY TCSBRKP TIOCNOTTY",
        LONG_BITS,
    ),
    ("TIOCGPGRP TIOCOUTQ FIONREAD TIOCGSID", INT_OUT),
    ("TIOCSPGRP FIONBIO FIOASYNC TIOCSPTLCK", INT_IN),
    ("TIOCGWINSZ", pointer_out(&Structure(&s::WINSIZE))),
    ("TIOCSWINSZ", pointer_in(&Structure(&s::WINSIZE))),
    ("TIOCGPTN", UINT_OUT),
    ("FIOCLEX FIONCLEX", Hidden),
];
