/* What says its own length or its own kind: netlink messages with attributes, sockets' options, several messages with what
 * rides along, structures that grew. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/inet_diag.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static char room[512];
static int length;

static void begin(int kind, int flags, const void *head, int size) {
	struct nlmsghdr *message = (void *)room;

	memset(room, 0, sizeof(room));
	message->nlmsg_type = kind;
	message->nlmsg_flags = flags;
	memcpy(NLMSG_DATA(message), head, size);
	length = NLMSG_HDRLEN + NLMSG_ALIGN(size);
	message->nlmsg_len = length;
}

/* Where an attribute begins, so that what it holds can be put behind it. */
static int attribute(int kind, const void *data, int size) {
	struct nlattr *attribute = (void *)(room + length);
	int at = length;

	attribute->nla_type = kind;
	attribute->nla_len = NLA_HDRLEN + size;
	if (size)
		memcpy(room + length + NLA_HDRLEN, data, size);
	length += NLA_ALIGN(NLA_HDRLEN + size);
	((struct nlmsghdr *)room)->nlmsg_len = length;
	return at;
}

static void nested(int at) {
	((struct nlattr *)(room + at))->nla_len = length - at;
}

static void say(int fd) {
	sendto(fd, room, length, MSG_DONTWAIT, NULL, 0);
}

/* A socket with a number, by which others that look find it. */
static int opened(int protocol) {
	struct sockaddr_nl name = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW, protocol);

	bind(fd, (void *)&name, sizeof(name));
	return fd;
}

static void route(void) {
	int fd = opened(NETLINK_ROUTE), at;
	struct ifinfomsg link = { .ifi_family = AF_UNSPEC, .ifi_type = ARPHRD_LOOPBACK, .ifi_index = 1, .ifi_flags = IFF_UP };
	struct rtmsg way = { .rtm_family = AF_INET, .rtm_table = RT_TABLE_MAIN, .rtm_scope = RT_SCOPE_LINK };
	unsigned int number = 1500;

	begin(RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, &link, sizeof(link));
	attribute(IFLA_IFNAME, "lo", 3);
	attribute(IFLA_IFNAME, "cut", 3);
	attribute(IFLA_MTU, &number, sizeof(number));
	attribute(IFLA_MTU, &number, 3);
	attribute(IFLA_ADDRESS, "\1\2\3\4\5\6", 6);
	at = attribute(IFLA_LINKINFO, 0, 0);
	attribute(IFLA_INFO_KIND, "bridge", 7);
	int inner = attribute(IFLA_INFO_DATA, 0, 0);
	attribute(IFLA_BR_FORWARD_DELAY, &number, sizeof(number));
	nested(inner);
	nested(at);
	attribute(NLA_F_NESTED | 999, "what", 4);
	say(fd);

	begin(RTM_GETROUTE, NLM_F_REQUEST, &way, sizeof(way));
	attribute(RTA_DST, "\12\13\14\15", 4);
	attribute(RTA_OIF, &(int){ 1 }, 4);
	say(fd);
	/* One behind the other, and one that is none. */
	memcpy(room + length, room, 16);
	((struct nlmsghdr *)(room + length))->nlmsg_len = 16;
	length += 20;
	say(fd);
	sendto(fd, "short", 5, MSG_DONTWAIT, NULL, 0);
	sendto(fd, (void *)8, 64, MSG_DONTWAIT, NULL, 0);
	close(fd);
}

static void others(void) {
	struct inet_diag_req_v2 sockets = { .sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = 1 << 10 };
	struct nfgenmsg filter = { .nfgen_family = AF_UNIX, .res_id = htons(NFNL_SUBSYS_NFTABLES) };
	struct nlmsgerr error = { .error = -13, .msg = { .nlmsg_len = 16, .nlmsg_type = NLMSG_NOOP } };
	int fd = opened(NETLINK_SOCK_DIAG);

	begin(SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, &sockets, sizeof(sockets));
	say(fd);
	close(fd);
	fd = opened(NETLINK_NETFILTER);
	begin(NFNL_SUBSYS_NFTABLES << 8, NLM_F_REQUEST, &filter, sizeof(filter));
	attribute(1, "table", 6);
	say(fd);
	begin(NLMSG_ERROR, 0, &error, sizeof(error));
	say(fd);
	begin(NLMSG_DONE, 0, &(int){ -5 }, 4);
	say(fd);
	close(fd);
}

static void options(void) {
	int pair[2];
	socklen_t size = 6;
	struct ucred who;
	struct sock_filter operations[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_PROTOCOL),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 8, 0, 1), BPF_STMT(BPF_RET | BPF_K, -1), BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { 4, operations };
	struct packet_mreq member = { 1, PACKET_MR_MULTICAST, 6, "\1\2\3\4\5\6" };

	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &who, &size);
	setsockopt(pair[0], SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 2 }, sizeof(struct linger));
	setsockopt(pair[0], SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 2 }, 4);
	setsockopt(pair[0], SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
	setsockopt(pair[0], SOL_SOCKET, SO_DETACH_FILTER, &size, sizeof(size));
	setsockopt(-1, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &member, sizeof(member));
	setsockopt(-1, SOL_RAW, 1, &(int){ 1 << 8 | 1 }, 4);
	setsockopt(-1, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &(int){ 3 }, 4);
	setsockopt(-1, SOL_SOCKET, 999, "", 1);
	struct group_req group = { .gr_interface = 1 };
	*(struct sockaddr_in *)&group.gr_group =
		(struct sockaddr_in){ AF_INET, htons(7), { htonl(0xe0000003) }, "" };
	setsockopt(-1, SOL_IP, MCAST_JOIN_GROUP, &group, sizeof(group));
	setsockopt(-1, SOL_IP, MCAST_LEAVE_GROUP, &group, sizeof(group) - 1);
	*(struct sockaddr_in6 *)&group.gr_group =
		(struct sockaddr_in6){ AF_INET6, htons(7), htonl(8), IN6ADDR_LOOPBACK_INIT, 9 };
	setsockopt(-1, SOL_IPV6, MCAST_LEAVE_GROUP, &group, sizeof(group));

	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec one = { "one", 3 }, two = { "second", 6 };
	struct mmsghdr messages[2] = {
		{ .msg_hdr = { .msg_iov = &one, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) } },
		{ .msg_hdr = { .msg_iov = &two, .msg_iovlen = 1 } },
	};
	struct cmsghdr *rides = CMSG_FIRSTHDR(&messages[0].msg_hdr);

	rides->cmsg_level = SOL_SOCKET;
	rides->cmsg_type = SCM_RIGHTS;
	rides->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(rides), &pair[0], sizeof(int));
	sendmmsg(pair[0], messages, 2, 0);
	char into[2][8];
	one = (struct iovec){ into[0], 8 };
	two = (struct iovec){ into[1], 8 };
	messages[0].msg_hdr.msg_controllen = 0;
	messages[0].msg_hdr.msg_control = 0;
	recvmmsg(pair[1], messages, 2, MSG_DONTWAIT, NULL);
	sendmmsg(-1, messages, 1, 0);
	close(pair[0]);
	close(pair[1]);
}

static void grown(void) {
	unsigned long how[5] = { 2, 0, 1, 0, 0x4142434445464748 };
	unsigned long task[12] = { [4] = 17, [11] = 7 };
	unsigned int schedule[14] = { 47 };
	fd_set set;
	struct { long type; char text[8]; } queued = { 5, "text" };

	syscall(SYS_openat2, -1, "x", how, 24);
	syscall(SYS_openat2, -1, "x", how, 40);
	syscall(SYS_openat2, -1, "x", how, 11);
	how[0] = 0100;
	syscall(SYS_openat2, -1, "x", how, 24);
	syscall(SYS_clone3, task, 96);
	syscall(SYS_clone3, task, 63);
	syscall(SYS_sched_setattr, 0, schedule, 0);
	schedule[0] = 56;
	schedule[1] = 77;
	syscall(SYS_sched_setattr, 0, schedule, 1);
	syscall(SYS_mount_setattr, -1, "", 0x1000, (unsigned long[]){ 2, 1, 1 << 18, 9 }, 32);
	{
		struct { unsigned int type, size; unsigned long rest[15]; } counter = { 1, 64, { 3 } };

		syscall(SYS_perf_event_open, &counter, -1, -1, -1, 0);
		/* What was asked for is gone before anybody can look. */
		memset(&counter, 0xff, sizeof(counter));
		__asm__ volatile("" : : "r"(&counter) : "memory");
	}
	syscall(SYS_msgsnd, -1, &queued, 4, 0);
	syscall(SYS_msgrcv, -1, &queued, 4, 0, 0);
	FD_ZERO(&set);
	FD_SET(1, &set);
	select(-1, &set, NULL, NULL, NULL);
	syscall(SYS_sched_setaffinity, 0, 0, &set);
}

int main(void) {
	route();
	others();
	options();
	grown();
}
