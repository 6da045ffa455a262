//! Requests of every file, and those of terminals.

use super::*;

pub(super) static GIVEN: Family = &[
    ("TCGETS", Special(S::Terminal(Out))),
    ("TCSETS TCSETSW TCSETSF", Special(S::Terminal(In))),
    (
        "TCSBRK TCXONC TCFLSH TIOCSCTTY TCSBRKP TIOCNOTTY",
        LONG_BITS,
    ),
    ("TIOCGPGRP TIOCOUTQ FIONREAD TIOCGSID", INT_OUT),
    ("TIOCSPGRP FIONBIO FIOASYNC TIOCSPTLCK", INT_IN),
    ("TIOCGWINSZ", hears(&Structure(&s::WINSIZE))),
    ("TIOCSWINSZ", says(&Structure(&s::WINSIZE))),
    ("TIOCGPTN", UINT_OUT),
    ("FIOCLEX FIONCLEX", Hidden),
    ("FICLONE", Fd),
];
