/* Sockets, and waiting for them. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#define call syscall

int main(void) {
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons(80), .sin6_addr = IN6ADDR_LOOPBACK_INIT, .sin6_scope_id = 3 };
	struct sockaddr_un un = { AF_UNIX, "nothing" };
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK, .nl_groups = 5 };
	char b[256], name[128], cb[256] = { 0 };
	int s, c, d, e, one = 1, sp[2];
	socklen_t l = 128;
	struct iovec v[2] = { { "hello", 5 }, { "wor\1ld\n", 7 } }, w = { b, 64 };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 }, r = { .msg_iov = &w, .msg_iovlen = 1, .msg_name = name, .msg_namelen = 128, .msg_control = cb, .msg_controllen = 256 };
	struct mmsghdr mm[2] = { 0 };
	struct cmsghdr *h;
	struct timespec ts = { 0, 5 };
	struct timeval tv = { 0, 3 };
	struct epoll_event ev = { EPOLLIN | EPOLLET | EPOLLOUT, { .u64 = 0x1234567890 } };
	sigset_t set;
	fd_set in, out;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bind(s, (void *)&a, sizeof a);
	listen(s, 5);
	getsockname(s, (void *)&a, &l);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, 4);
	l = 4;
	getsockopt(s, SOL_SOCKET, SO_ERROR, &one, &l);
	l = 8;
	getsockopt(s, SOL_SOCKET, SO_TYPE, &b, &l);
	c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP);
	connect(c, (void *)&a, sizeof a);
	l = 128;
	d = accept4(s, (void *)name, &l, SOCK_CLOEXEC | SOCK_NONBLOCK);
	l = 128;
	getpeername(s, (void *)name, &l);
	accept(d, 0, 0);
	sendmsg(c, &m, 0);
	recvmsg(d, &r, 0);
	recvmsg(d, &r, MSG_DONTWAIT);
	sendto(c, "abc", 3, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
	recvfrom(d, b, 100, MSG_DONTWAIT, 0, 0);
	l = 128;
	recvfrom(d, b, 100, MSG_DONTWAIT, (void *)name, &l);
	setsockopt(c, SOL_SOCKET, SO_LINGER, (int[]){ 1, 5 }, 8);
	setsockopt(c, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
	setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, 4);
	setsockopt(c, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
	l = 16;
	getsockopt(c, IPPROTO_TCP, TCP_CONGESTION, b, &l);
	setsockopt(c, IPPROTO_IP, IP_TOS, &one, 4);
	setsockopt(c, IPPROTO_IPV6, IPV6_V6ONLY, &one, 4);
	setsockopt(c, 99, 77, &one, 4);
	setsockopt(c, SOL_SOCKET, 777, &one, 2);
	setsockopt(c, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3);
	setsockopt(c, SOL_SOCKET, SO_SNDBUF, (void *)8, 4);
	setsockopt(c, SOL_SOCKET, SO_SNDBUF, 0, 4);
	shutdown(c, SHUT_WR);
	shutdown(c, 99);
	socket(99, 77, 88);
	socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 9);
	socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP);
	socket(AF_UNIX, SOCK_STREAM, 5);

	/* addresses */
	a.sin_port = htons(0x4142);
	connect(c, (void *)&un, sizeof un);
	connect(c, (void *)&un, 5);
	connect(c, (void *)&un, 2);
	un.sun_path[0] = 0;
	connect(c, (void *)&un, 6);
	connect(c, (void *)&un, 3);
	connect(c, (void *)&a6, sizeof a6);
	connect(c, (void *)&a6, 24);
	connect(c, (void *)&a6, 12);
	connect(c, (void *)&nl, sizeof nl);
	connect(c, (void *)&a, 8);
	connect(c, (void *)&a, 1);
	connect(c, (void *)8, 16);
	connect(c, 0, 16);
	a.sin_family = 0;
	connect(99, (void *)&a, 16);
	a.sin_family = 77;
	connect(99, (void *)&a, 6);

	/* descriptors in messages */
	socketpair(AF_UNIX, SOCK_DGRAM, 0, sp);
	m.msg_control = cb;
	m.msg_controllen = 24;
	h = CMSG_FIRSTHDR(&m);
	h->cmsg_len = CMSG_LEN(4);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	*(int *)CMSG_DATA(h) = 1;
	sendmsg(sp[0], &m, MSG_NOSIGNAL);
	r.msg_controllen = 256;
	r.msg_namelen = 128;
	recvmsg(sp[1], &r, 0);
	m.msg_controllen = 0;
	m.msg_iovlen = 1;
	mm[0].msg_hdr = m;
	mm[1].msg_hdr = m;
	sendmmsg(sp[0], mm, 2, 0);
	mm[0].msg_hdr = (struct msghdr){ .msg_iov = &w, .msg_iovlen = 1 };
	mm[1].msg_hdr = mm[0].msg_hdr;
	recvmmsg(sp[1], mm, 2, MSG_DONTWAIT, 0);
	recvmmsg(sp[1], mm, 2, MSG_DONTWAIT, 0);
	sendmmsg(99, mm, 1, 0);
	sendmsg(99, (void *)8, 0);
	sendmsg(99, 0, 0);

	/* waiting */
	struct pollfd p[2] = { { -1, POLLIN, 0 }, { d, POLLOUT | POLLIN | POLLRDHUP, 0 } };
	poll(p, 2, 0);
	poll(p + 1, 1, 100);
	p[1].events = POLLPRI;
	p[1].fd = s;
	poll(p, 2, 1);
	poll(0, 0, 0);
	poll((void *)8, 1, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	p[1].events = POLLIN;
	p[1].fd = d;
	call(SYS_ppoll, p, 2, &(struct timespec){ 1, 0 }, &set, 8);
	call(SYS_ppoll, p, 1, &ts, 0, 8);
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(d, &in);
	FD_SET(s, &in);
	FD_SET(d, &out);
	call(SYS_select, d + 1, &in, &out, 0, &(struct timeval){ 1, 0 });
	FD_ZERO(&in);
	FD_SET(s, &in);
	call(SYS_select, s + 1, &in, 0, 0, &tv);
	call(SYS_select, 0, 0, 0, 0, &tv);
	/* More descriptors than a set of the C library has. */
	call(SYS_select, 4000, (long[63]){ 1l << d }, 0, 0, &(struct timeval){ 0 });
	call(SYS_select, 99, (void *)8, 0, 0, 0);
	FD_ZERO(&in);
	call(SYS_pselect6, d + 1, &in, &out, 0, &ts, (long[]){ (long)&set, 8 });
	call(SYS_pselect6, d + 1, 0, &out, 0, 0, 0);
	e = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(e, EPOLL_CTL_ADD, d, &ev);
	epoll_ctl(e, EPOLL_CTL_MOD, d, &ev);
	epoll_wait(e, &ev, 1, 10);
	epoll_wait(e, &ev, 1, 0);
	epoll_ctl(e, EPOLL_CTL_DEL, d, &ev);
	epoll_ctl(e, EPOLL_CTL_DEL, d, 0);
	epoll_ctl(e, 99, d, 0);
	epoll_pwait(e, &ev, 1, 0, &set);
	call(SYS_epoll_pwait2, e, &ev, 1, &ts, 0, 8);
	epoll_wait(99, &ev, 1, 0);
	exit(0);
}
