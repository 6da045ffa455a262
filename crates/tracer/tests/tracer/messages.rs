//! What says its own length or kind, told by either engine in the same lines.

use backsight_syscall_decode::TraceEvent;
use backsight_syscall_decode::text::{TextOptions, TextWriter};
use backsight_test_needs::Need;
use backsight_tracer::bpf_engine;
use backsight_tracer::command::TracedCommand;
use backsight_tracer::engine::{EngineKind, trace};
use backsight_tracer::options::TraceOptions;

use crate::in_time::in_time;
use crate::programs::program;

/// Lines of the program `messages`, each by what it begins with and how it goes on.
const LINES: [&str; 15] = [
    "sendto(3, [{nlmsg_len=112, nlmsg_type=RTM_GETLINK, nlmsg_flags=NLM_F_REQUEST|NLM_F_DUMP, nlmsg_seq=0, nlmsg_pid=0}, \
     {ifi_family=AF_UNSPEC, ifi_type=ARPHRD_LOOPBACK, ifi_index=if_nametoindex(\"lo\"), ifi_flags=IFF_UP, ifi_change=0}, \
     [[{nla_len=7, nla_type=IFLA_IFNAME}, \"lo\"], [{nla_len=7, nla_type=IFLA_IFNAME}, \"cut\"...], \
     [{nla_len=8, nla_type=IFLA_MTU}, 1500], [{nla_len=7, nla_type=IFLA_MTU}, \"\\xdc\\x05\\x00\"], \
     [{nla_len=10, nla_type=IFLA_ADDRESS}, 01:02:03:04:05:06], [{nla_len=28, nla_type=IFLA_LINKINFO}, \
     [[{nla_len=11, nla_type=IFLA_INFO_KIND}, \"bridge\"], [{nla_len=12, nla_type=IFLA_INFO_DATA}, \
     [{nla_len=8, nla_type=IFLA_BR_FORWARD_DELAY}, 1500 /* 15.00 s */]]]], \
     [{nla_len=8, nla_type=NLA_F_NESTED|0x3e7 /* IFLA_??? */}, \"\\x77\\x68\\x61\\x74\"]]], 112, MSG_DONTWAIT, NULL, 0)",
    "[[{nla_len=8, nla_type=RTA_DST}, inet_addr(\"10.11.12.13\")], [{nla_len=8, nla_type=RTA_OIF}, if_nametoindex(\"lo\")]]",
    "sendto(3, \"\\x73\\x68\\x6f\\x72\\x74\", 5, MSG_DONTWAIT, NULL, 0)",
    "{sdiag_family=AF_INET, sdiag_protocol=IPPROTO_TCP, idiag_ext=0, idiag_states=1<<TCP_LISTEN, id={idiag_sport=htons(0), ",
    "nlmsg_type=NFNL_SUBSYS_NFTABLES<<8|NFT_MSG_NEWTABLE, nlmsg_flags=NLM_F_REQUEST, nlmsg_seq=0, nlmsg_pid=0}, \
     {nfgen_family=AF_UNIX, version=NFNETLINK_V0, res_id=htons(NFNL_SUBSYS_NFTABLES)}, [{nla_len=10, nla_type=0x1}, ",
    "{error=-EACCES, msg={nlmsg_len=16, nlmsg_type=NLMSG_NOOP, ",
    "SOL_SOCKET, SO_PEERCRED, {pid=",
    "SOL_SOCKET, SO_LINGER, {l_onoff=1, l_linger=2}, 8)",
    "SOL_PACKET, PACKET_ADD_MEMBERSHIP, {mr_ifindex=if_nametoindex(\"lo\"), mr_type=PACKET_MR_MULTICAST, mr_alen=6, \
     mr_address=01:02:03:04:05:06}, 16)",
    "msg_control=[{cmsg_len=20, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[3]}], msg_controllen=24, msg_flags=0}, \
     msg_len=3}, {msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"second\", iov_len=6}], msg_iovlen=1, \
     msg_controllen=0, msg_flags=0}, msg_len=6}], 2, 0) = 2",
    "openat2(-1, \"x\", {flags=O_RDWR, resolve=RESOLVE_NO_XDEV, /* bytes 24..39 */ \
     \"\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x48\\x47\\x46\\x45\\x44\\x43\\x42\\x41\"}, 40)",
    "clone3({flags=0, exit_signal=SIGCHLD, stack=NULL, stack_size=0, /* bytes 88..95 */ \
     \"\\x07\\x00\\x00\\x00\\x00\\x00\\x00\\x00\"}, 96)",
    "mount_setattr(-1, \"\", AT_EMPTY_PATH, {attr_set=MOUNT_ATTR_NOSUID, attr_clr=MOUNT_ATTR_RDONLY, \
     propagation=MS_PRIVATE, userns_fd=9}, 32)",
    "perf_event_open({type=PERF_TYPE_SOFTWARE, size=PERF_ATTR_SIZE_VER0, config=PERF_COUNT_SW_CONTEXT_SWITCHES, sample_period=0, ",
    "msgsnd(-1, {mtype=5, mtext=\"text\"}, 4, 0)",
];

fn told(engine: EngineKind) -> String {
    let options = TraceOptions {
        command: Some(TracedCommand::new(
            program("messages"),
            Vec::<String>::new(),
        )),
        ..TraceOptions::default()
    };
    let mut text = TextWriter::new(TextOptions::default());
    let mut out = Vec::new();
    let ended = in_time(|interrupt| {
        trace(engine, &options, interrupt, &mut |event: TraceEvent| {
            text.write(&event, &mut out)
        })
    })
    .unwrap();
    assert_eq!(ended.lost, 0);
    String::from_utf8(out).unwrap()
}

#[test]
fn messages_options_and_structures_that_grew_are_told_by_both_engines() {
    let mut engines = vec![EngineKind::Ptrace];
    if !Need::Bpf.is_missing_in(bpf_engine::check_available()) {
        engines.push(EngineKind::Kernel);
    }
    for engine in engines {
        let told = told(engine);
        for line in LINES {
            assert!(told.contains(line), "{engine:?}: {line}\n{told}");
        }
    }
}
