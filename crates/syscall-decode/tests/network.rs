//! Netlink messages, options and control messages of sockets, and addresses, as the newest strace (7.2) has them.

use backsight_syscall_decode::resolver::{DescriptorInfo, Resolver};
use backsight_syscall_decode::table::syscall_number;
use backsight_syscall_decode::text::{TextOptions, TextWriter};
use backsight_syscall_decode::{
    Abi, CapturePoint, CapturedMemory, EventKind, MemoryPiece, SyscallOutcome, SyscallRecord,
    TraceEvent,
};

/// A machine with one family and one interface.
struct Machine;

impl Resolver for Machine {
    fn describe_descriptor(&mut self, _: i32, _: i32, _: &SyscallRecord) -> DescriptorInfo {
        DescriptorInfo::default()
    }

    fn generic_family(&mut self, number: u16) -> Option<String> {
        (number == 33).then(|| "nl80211".to_owned())
    }

    fn interface_name(&mut self, _: i32, number: u32) -> Option<String> {
        (number == 7).then(|| "eth7".to_owned())
    }
}

const DATA: u64 = 0x1000;
const MORE: u64 = 0x9000;
const GENERIC: u8 = 16;
const ROUTE: u8 = 0;

/// The line of a call that came back with zero, with the memory that it was made with.
fn line(name: &str, arguments: [u64; 6], netlink: Option<u8>, pieces: &[(u64, &[u8])]) -> String {
    line_with_result(name, arguments, 0, netlink, pieces)
}

/// The same of a call with another result.
fn line_with_result(
    name: &str,
    arguments: [u64; 6],
    value: i64,
    netlink: Option<u8>,
    pieces: &[(u64, &[u8])],
) -> String {
    let mut memory = CapturedMemory::default();
    memory.set_netlink(netlink);
    for (address, bytes) in pieces {
        for when in [CapturePoint::Entered, CapturePoint::Left] {
            memory.add(MemoryPiece {
                address: *address,
                when,
                bytes: bytes.to_vec(),
            });
        }
    }
    let call = SyscallRecord {
        abi: Abi::X86_64,
        number: syscall_number(Abi::X86_64, name).expect("a call of the kernel"),
        arguments,
        entered: 0,
        outcome: SyscallOutcome::Returned { value, took: 1 },
        memory,
        injected: false,
        rewritten: false,
        delayed: false,
        instruction: None,
        worked: None,
    };
    let event = TraceEvent {
        pid: 1,
        tid: 1,
        at: 0,
        kind: EventKind::Call(call),
    };
    let mut out = Vec::new();
    TextWriter::new(TextOptions::default())
        .with_resolver(Machine)
        .write(&event, &mut out);
    String::from_utf8(out).expect("text")
}

/// A netlink message that asks for all that there are.
fn message(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    let length = 16 + payload.len() as u32;
    message.extend_from_slice(&length.to_le_bytes());
    message.extend_from_slice(&kind.to_le_bytes());
    message.extend_from_slice(&0x301_u16.to_le_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(payload);
    message
}

/// What is shown of a netlink message behind its beginning.
fn behind_head(protocol: u8, message: &[u8]) -> String {
    let length = message.len() as u64;
    let arguments = [3, DATA, length, 0, 0, 0];
    let shown = line("sendto", arguments, Some(protocol), &[(DATA, message)]);
    let (_, behind) = shown.split_once("nlmsg_pid=0}, ").expect("a message");
    let (behind, _) = behind.rsplit_once("], ").expect("its end");
    behind.to_owned()
}

/// The same of a message that asks for all that there are.
fn payload(protocol: u8, kind: u16, payload: &[u8]) -> String {
    behind_head(protocol, &message(kind, payload))
}

/// An attribute, up to where the next one may stand.
fn attribute(kind: u16, held: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&(4 + held.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&kind.to_le_bytes());
    bytes.extend_from_slice(held);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

#[test]
fn controller_of_generic_families_is_shown_with_each_familys_commands() {
    let operation = joined(&[
        &attribute(1, &1_u32.to_le_bytes()),
        &attribute(2, &10_u32.to_le_bytes()),
    ]);
    let operations = attribute(6, &attribute(1, &operation));
    let name = attribute(2, b"ethtool\0");
    let told = joined(&[&[1, 2, 0, 0], &name, &operations]);
    assert_eq!(
        payload(GENERIC, 16, &told),
        "{cmd=CTRL_CMD_NEWFAMILY, version=2}, [[{nla_len=12, nla_type=CTRL_ATTR_FAMILY_NAME}, \"ethtool\"], \
         [{nla_len=24, nla_type=CTRL_ATTR_OPS}, [{nla_len=20, nla_type=0x1}, \
         [[{nla_len=8, nla_type=CTRL_ATTR_OP_ID}, ETHTOOL_MSG_STRSET_GET], \
         [{nla_len=8, nla_type=CTRL_ATTR_OP_FLAGS}, GENL_CMD_CAP_DO|GENL_CMD_CAP_HASPOL]]]]]"
    );
    // Of a family that stands behind, the numbers are the controller's.
    let told = joined(&[&[3, 1, 0, 0], &operations, &name]);
    assert!(payload(GENERIC, 16, &told).contains("CTRL_ATTR_OP_ID}, CTRL_CMD_NEWFAMILY]"));
    let rule = attribute(1, &3_u32.to_le_bytes());
    let told = joined(&[
        &[10, 1, 0x34, 0x12],
        &attribute(8, &attribute(5, &attribute(1, &rule))),
    ]);
    assert_eq!(
        payload(GENERIC, 16, &told),
        "{cmd=CTRL_CMD_GETPOLICY, version=1, reserved=0x1234}, [{nla_len=20, nla_type=CTRL_ATTR_POLICY}, \
         [{nla_len=16, nla_type=0x5}, [{nla_len=12, nla_type=0x1}, \
         [{nla_len=8, nla_type=NL_POLICY_TYPE_ATTR_TYPE}, NL_ATTR_TYPE_U16]]]]"
    );
    assert_eq!(payload(GENERIC, 16, &[3, 1, 0]), "\"\\x03\\x01\\x00\"");
}

#[test]
fn other_generic_families_are_shown_with_numbers() {
    let told = joined(&[&[3, 1, 0, 0], &attribute(1, b"abcd")]);
    assert_eq!(
        payload(GENERIC, 40, &told),
        "{cmd=0x3, version=1}, [{nla_len=8, nla_type=0x1}, \"\\x61\\x62\\x63\\x64\"]"
    );
}

#[test]
fn actions_of_traffic_control_stand_in_their_list() {
    let action = joined(&[
        &attribute(1, b"gact\0"),
        &attribute(3, &7_u32.to_le_bytes()),
    ]);
    let told = joined(&[
        &[0, 0, 0, 0],
        &attribute(1, &attribute(1, &action)),
        &attribute(2, &joined(&[&3_u32.to_le_bytes(), &3_u32.to_le_bytes()])),
        &attribute(4, &1500_u32.to_le_bytes()),
        &attribute(5, b"why\0"),
    ]);
    assert_eq!(
        payload(ROUTE, 48, &told),
        "{tca_family=AF_UNSPEC}, [[{nla_len=28, nla_type=TCA_ROOT_TAB}, [{nla_len=24, nla_type=0x1}, \
         [[{nla_len=9, nla_type=TCA_ACT_KIND}, \"gact\"], [{nla_len=8, nla_type=TCA_ACT_INDEX}, 7]]]], \
         [{nla_len=12, nla_type=TCA_ROOT_FLAGS}, TCA_ACT_FLAG_LARGE_DUMP_ON|TCA_ACT_FLAG_TERSE_DUMP], \
         [{nla_len=8, nla_type=TCA_ROOT_TIME_DELTA}, 1500 /* 1.500 s */], \
         [{nla_len=8, nla_type=TCA_ROOT_EXT_WARN_MSG}, \"why\"]]"
    );
}

#[test]
fn newer_attributes_of_routes_and_links_have_their_form() {
    for (kind, head, number, held, shown) in [
        (24, 12, 30, vec![1, 2, 3, 4], "RTA_NH_ID}, 67305985"),
        (24, 12, 31, vec![0, 0, 1, 2], "RTA_FLOWLABEL}, htonl(258)"),
        (32, 12, 25, vec![9], "FRA_DSCP}, 9"),
        (36, 20, 16, b"no\0".to_vec(), "TCA_EXT_WARN_MSG}, \"no\""),
        (18, 16, 63, vec![1, 0, 0, 0], "IFLA_GSO_IPV4_MAX_SIZE}, 1"),
        (
            56,
            8,
            4,
            vec![127, 0, 0, 1],
            "IFA_BROADCAST}, inet_addr(\"127.0.0.1\")",
        ),
    ] {
        let mut head = vec![0_u8; head];
        head[0] = 2;
        let told = joined(&[&head, &attribute(number, &held)]);
        let whole = payload(ROUTE, kind, &told);
        assert!(whole.contains(shown), "{whole} has no {shown}");
    }
    assert_eq!(payload(ROUTE, 56, &[2]), "{ifa_family=AF_INET, ...}");
}

#[test]
fn shared_buffers_have_the_upper_halves_of_their_identifiers_where_they_are_said() {
    let mut buffer = vec![1, 0, 0, 0, 0, 0, 0, 0];
    for number in [2_u64, 3, 4, 5, 6, 7] {
        buffer.extend_from_slice(&number.to_le_bytes());
    }
    let mut head = vec![0; 64];
    head[0] = 43;
    for (size, shown) in [
        (40, "peer_token=0x5}"),
        (44, "peer_token=0x5, peer_gid_ext=0x6, my_gid_ext=0}"),
        (56, "peer_token=0x5, peer_gid_ext=0x6, my_gid_ext=0x7}"),
    ] {
        let told = joined(&[&head, &attribute(4, &buffer[..size])]);
        let mut message = message(20, &told);
        // An answer is no request.
        message[6] = 0;
        let whole = behind_head(4, &message);
        assert!(whole.contains(shown), "{whole} has no {shown}");
    }
}

#[test]
fn flags_of_a_message_follow_from_its_name() {
    for (protocol, kind, shown) in [
        (
            12,
            0x0a1a,
            "NFT_MSG_DESTROYTABLE, nlmsg_flags=NLM_F_REQUEST|NLM_F_NONREC|NLM_F_BULK,",
        ),
        (
            6,
            0x28,
            "XFRM_MSG_GETDEFAULT, nlmsg_flags=NLM_F_REQUEST|0x300,",
        ),
        (
            GENERIC,
            40,
            "0x28 /* GENERIC_FAMILY_??? */, nlmsg_flags=NLM_F_REQUEST|NLM_F_DUMP,",
        ),
    ] {
        let message = message(kind, &[]);
        let pieces: [(u64, &[u8]); 1] = [(DATA, &message)];
        let arguments = [3, DATA, message.len() as u64, 0, 0, 0];
        let whole = line("sendto", arguments, Some(protocol), &pieces);
        assert!(whole.contains(shown), "{whole} has no {shown}");
    }
}

#[test]
fn families_and_interfaces_have_the_names_of_the_machine() {
    let family = message(33, &[1, 1, 0, 0]);
    let mut address = [0_u8; 8];
    address[4] = 7;
    let link = message(20, &address);
    for (protocol, message, shown) in [
        (GENERIC, &family, "nlmsg_type=nl80211, "),
        (ROUTE, &link, "ifa_index=if_nametoindex(\"eth7\")}"),
    ] {
        let pieces: [(u64, &[u8]); 1] = [(DATA, message)];
        let arguments = [3, DATA, message.len() as u64, 0, 0, 0];
        let whole = line("sendto", arguments, Some(protocol), &pieces);
        assert!(whole.contains(shown), "{whole} has no {shown}");
    }
    address[4] = 8;
    assert!(payload(ROUTE, 20, &address).ends_with("ifa_index=8}"));
}

#[test]
fn what_ethtool_answers_has_other_numbers_than_what_it_is_asked() {
    let operation = attribute(1, &1_u32.to_le_bytes());
    let operations = attribute(6, &attribute(1, &operation));
    let told = joined(&[&[1, 2, 0, 0], &attribute(2, b"ethtool\0"), &operations]);
    let message = message(16, &told);
    let length = message.len() as u64;
    let pieces: [(u64, &[u8]); 1] = [(DATA, &message)];
    for (name, value, shown) in [
        ("sendto", 0, "CTRL_ATTR_OP_ID}, ETHTOOL_MSG_STRSET_GET]"),
        (
            "recvfrom",
            length as i64,
            "CTRL_ATTR_OP_ID}, ETHTOOL_MSG_STRSET_GET_REPLY]",
        ),
    ] {
        let arguments = [3, DATA, length, 0, 0, 0];
        let whole = line_with_result(name, arguments, value, Some(GENERIC), &pieces);
        assert!(whole.contains(shown), "{whole} has no {shown}");
    }
}

#[test]
fn protocols_of_sockets_have_the_names_of_their_family() {
    for (family, kind, protocol, shown) in [
        (31, 1, 3, "AF_BLUETOOTH, SOCK_STREAM, BTPROTO_RFCOMM"),
        (3, 1, 1, "AF_AX25, SOCK_STREAM, 0x1 /* AX25_P_ROSE */"),
        (17, 3, 0x300, "AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)"),
        (33, 2, 2, "AF_RXRPC, SOCK_DGRAM, AF_INET"),
        (1, 0, 7, "AF_UNIX, 0, 7"),
        (1, 0x103, 0, "AF_UNIX, SOCK_RAW|0x100 /* SOCK_??? */, 0"),
    ] {
        let whole = line("socket", [family, kind, protocol, 0, 0, 0], None, &[]);
        assert!(whole.starts_with(&format!("socket({shown})")), "{whole}");
    }
}

/// A message with one control message, as far as it is shown.
fn control(level: u32, kind: u32, held: &[u8]) -> String {
    let mut control = Vec::new();
    control.extend_from_slice(&(16 + held.len() as u64).to_le_bytes());
    control.extend_from_slice(&level.to_le_bytes());
    control.extend_from_slice(&kind.to_le_bytes());
    control.extend_from_slice(held);
    control.resize(control.len().next_multiple_of(8), 0);
    let mut head = vec![0; 56];
    head[32..40].copy_from_slice(&MORE.to_le_bytes());
    head[40..48].copy_from_slice(&(control.len() as u64).to_le_bytes());
    let pieces: [(u64, &[u8]); 2] = [(DATA, &head), (MORE, &control)];
    let shown = line("sendmsg", [3, DATA, 0, 0, 0, 0], None, &pieces);
    let (_, behind) = shown.split_once("cmsg_level=").expect("a control message");
    let (behind, _) = behind.split_once("}], msg_controllen").expect("its end");
    behind.to_owned()
}

#[test]
fn control_messages_of_no_known_form_are_bytes() {
    for (level, kind, held, shown) in [
        (
            1,
            1,
            &[1, 2][..],
            "SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=\"\\x01\\x02\"",
        ),
        (
            1,
            4,
            &[5, 0, 0, 0],
            "SOL_SOCKET, cmsg_type=SCM_PIDFD, cmsg_data=5",
        ),
        (
            0,
            52,
            &[6, 0, 0, 0],
            "SOL_IP, cmsg_type=IP_PROTOCOL, cmsg_data=[IPPROTO_TCP]",
        ),
        (
            0,
            52,
            &[0, 0, 1, 0],
            "SOL_IP, cmsg_type=IP_PROTOCOL, cmsg_data=[0x10000 /* IP_??? */]",
        ),
        (
            5,
            1,
            &[7],
            "0x5 /* SOL_??? */, cmsg_type=0x1, cmsg_data=\"\\x07\"",
        ),
        (1, 1, &[], "SOL_SOCKET, cmsg_type=SCM_RIGHTS"),
    ] {
        assert_eq!(control(level, kind, held), shown);
    }
}

fn option_set(level: u64, option: u64, value: &[u8]) -> String {
    let arguments = [3, level, option, DATA, value.len() as u64, 0];
    let shown = line("setsockopt", arguments, None, &[(DATA, value)]);
    let (_, behind) = shown.split_once("setsockopt(3, ").expect("the call");
    let (behind, _) = behind.rsplit_once(") = 0").expect("its result");
    behind.trim_end().to_owned()
}

#[test]
fn options_have_the_form_of_their_value() {
    for (level, option, value, shown) in [
        (
            0,
            51,
            &[1, 0, 2, 0][..],
            "SOL_IP, IP_LOCAL_PORT_RANGE, [0x20001 /* 1..2 */], 4",
        ),
        (
            0,
            51,
            &[0, 0, 2, 0],
            "SOL_IP, IP_LOCAL_PORT_RANGE, [0x20000 /* ..2 */], 4",
        ),
        (0, 51, &[0, 0, 0, 0], "SOL_IP, IP_LOCAL_PORT_RANGE, [0], 4"),
        (
            0,
            51,
            &[1, 2],
            "SOL_IP, IP_LOCAL_PORT_RANGE, \"\\x01\\x02\", 2",
        ),
        (1, 76, &[1, 0, 0, 0, 0], "SOL_SOCKET, SO_PASSPIDFD, [1], 5"),
        (1, 84, &[1, 0], "SOL_SOCKET, SO_INQ, 0x1000, 2"),
        (
            271,
            127,
            &[2, 0, 0, 0],
            "SOL_TIPC, TIPC_IMPORTANCE, [TIPC_HIGH_IMPORTANCE], 4",
        ),
        (
            271,
            130,
            &[2, 0, 0, 0, 9],
            "SOL_TIPC, TIPC_CONN_TIMEOUT, [2], 5",
        ),
        (
            271,
            130,
            &[2, 0, 0],
            "SOL_TIPC, TIPC_CONN_TIMEOUT, 0x1000, 3",
        ),
    ] {
        assert_eq!(option_set(level, option, value), shown);
    }
    let group = [1_u32, 2, 3, 1].map(u32::to_le_bytes).concat();
    assert_eq!(
        option_set(271, 135, &group),
        "SOL_TIPC, TIPC_GROUP_JOIN, {type=1, instance=2, scope=TIPC_NODE_SCOPE, flags=TIPC_GROUP_LOOPBACK}, 16"
    );
}

#[test]
fn key_of_segments_is_shown_as_far_as_it_is_said() {
    let mut key = vec![0; 288];
    key[..8].copy_from_slice(&[2, 0, 0x1f, 0x90, 127, 0, 0, 1]);
    key[128..138].copy_from_slice(b"hmac(sha1)");
    key[192] = 1;
    key[196] = 2;
    key[202..208].copy_from_slice(&[24, 1, 2, 12, 1, 3]);
    key[208..211].copy_from_slice(b"abc");
    assert_eq!(
        option_set(6, 38, &key),
        "SOL_TCP, TCP_AO_ADD_KEY, {addr={sa_family=AF_INET, sin_port=htons(8080), sin_addr=inet_addr(\"127.0.0.1\")}, \
         prefix=24, alg_name=\"hmac(sha1)\", ifindex=if_nametoindex(\"lo\"), set_current=0, set_rnext=1, sndid=1, rcvid=2, \
         maclen=12, keyflags=TCP_AO_KEYF_IFINDEX, key=\"\\x61\\x62\\x63\", keylen=3}, 288"
    );
    assert!(option_set(6, 38, &key[..130]).contains("prefix=0, alg_name=\"hm\", ifindex=0, "));
}

#[test]
fn addresses_of_clusters_are_shown_by_their_type() {
    for (kind, scope, shown) in [
        (
            1,
            2,
            "TIPC_SERVICE_RANGE, scope=TIPC_CLUSTER_SCOPE, addr={nameseq={type=1, lower=2, upper=3}}",
        ),
        (
            2,
            3,
            "TIPC_SERVICE_ADDR, scope=TIPC_NODE_SCOPE, addr={name={name={type=1, instance=2}, domain=0x3}}",
        ),
        (
            3,
            0xff,
            "TIPC_SOCKET_ADDR, scope=-0x1 /* TIPC_???_SCOPE */, addr={id={ref=1, node=0x2}}",
        ),
        (
            4,
            0xfe,
            "0x4 /* TIPC_??? */, scope=-TIPC_CLUSTER_SCOPE, addr=\"\\1\\0\\0\\0\\2\\0\\0\\0\\3\\0\\0\\0\"",
        ),
    ] {
        let numbers = [1_u32, 2, 3].map(u32::to_le_bytes).concat();
        let address = joined(&[&[30, 0, kind, scope], &numbers]);
        let shown = format!("connect(3, {{sa_family=AF_TIPC, addrtype={shown}}}, 16) = 0");
        let told = line("connect", [3, DATA, 16, 0, 0, 0], None, &[(DATA, &address)]);
        assert_eq!(told.trim_end(), shown);
    }
}

#[test]
fn the_name_of_a_kind_of_links_may_end_behind_its_attribute() {
    let data = attribute(2, &attribute(2, &[5]));
    let kind = attribute(1, b"bridge");
    let told = joined(&[&[0; 16], &attribute(18, &joined(&[&kind, &data]))]);
    let line = payload(ROUTE, 16, &told);
    assert!(line.contains("nla_type=IFLA_BR_HELLO_TIME}, 5"), "{line}");
}
