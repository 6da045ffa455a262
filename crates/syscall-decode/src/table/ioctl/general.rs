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
    ("TCSBRK TCSBRKP TIOCSCTTY", INT),
    ("TCXONC", One(Eight, &f::IOCTL_TERMINAL_FLOW)),
    ("TCFLSH", One(Eight, &f::IOCTL_TERMINAL_FLUSH)),
    (
        "TIOCEXCL TIOCNXCL TIOCCONS TIOCNOTTY TIOCSSERIAL TIOCSBRK TIOCCBRK TIOCVHANGUP",
        Hidden,
    ),
    ("TIOCSTI", Bytes(In, LengthSource::Fixed(1))),
    (
        "TIOCGPGRP TIOCOUTQ FIONREAD TIOCGSID TIOCGSOFTCAR TIOCGETD TIOCGEXCL TIOCGPTN",
        INT_OUT,
    ),
    (
        "TIOCSPGRP FIONBIO FIOASYNC TIOCSPTLCK TIOCSSOFTCAR TIOCPKT TIOCSETD",
        INT_IN,
    ),
    ("TIOCGDEV BLKGETZONESZ BLKGETNRZONES", UINT_OUT),
    ("TIOCGWINSZ", pointer_out(&Structure(&s::WINSIZE))),
    ("TIOCSWINSZ", pointer_in(&Structure(&s::WINSIZE))),
    ("FIOCLEX FIONCLEX", Hidden),
];
