/* What devices, keys, quotas and policies are asked: requests of every family, with structures that one side or both fill in. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define call syscall

/* What the generic driver of SCSI devices and the device mapper are given: numbers that say what else there is, and where. */
static void devices(char *end) {
	static unsigned char data[64];
	static struct { void *base; size_t length; } vectors[] = { { data, 3 }, { data + 8, 9 }, { (void *)8, 4 } };
	static union {
		unsigned char bytes[4096];
		unsigned numbers[1024];
		unsigned long longs[512];
	} b;

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = i * 9;
	for (int way = -6; way < 0; way++)
		for (unsigned many = 0; many < 3; many++) {
			for (unsigned i = 0; i < 160; i++)
				b.bytes[i] = i;
			b.numbers[0] = 'S';
			b.numbers[1] = way;
			b.bytes[8] = 6;
			b.numbers[2] = 0x60006 | many << 16 | 6 << 8;
			b.numbers[3] = 11;
			b.longs[2] = (long)(many ? (void *)vectors : data);
			b.longs[3] = (long)data;
			b.longs[4] = (long)data + 7;
			b.bytes[67] = 5;
			b.numbers[18] = many == 1 ? 11 : 4;
			call(SYS_ioctl, -1, 0x2285, &b);
			b.numbers[0] = 'Q';
			b.numbers[3] = 4;
			b.longs[2] = (long)data;
			b.longs[6] = (long)data;
			b.numbers[14] = many;
			b.numbers[15] = 10;
			b.numbers[16] = 2 - many;
			b.numbers[17] = 9;
			b.longs[9] = (long)(many ? (void *)vectors : data);
			b.longs[10] = (long)(2 - many ? (void *)vectors : data);
			b.numbers[33] = 3;
			b.numbers[34] = way;
			call(SYS_ioctl, -1, 0x2285, &b);
		}
	*(int *)(end - 8) = 'S';
	call(SYS_ioctl, -1, 0x2285, end - 8);
	for (unsigned start = 0; start < 5; start++)
		for (unsigned request = 0; request < 18; request++) {
			static const unsigned starts[] = { 312, 305, 50, 600, 0xfffffff0 };

			memset(&b, 0, sizeof(b));
			memcpy(&b, (unsigned[]){ 4, 37, 0, 600, starts[start], 3, 1, start ? 0x80013 : 0, 7, 0 }, 40);
			b.longs[5] = 0xfd05;
			memcpy(b.bytes + 48, "name", 5);
			memset(b.bytes + 176, 'u', start ? 129 : 4);
			if (!start) {
				/* Targets and names: each says how far away the next is. */
				b.longs[39] = 0xfd01;
				b.longs[40] = 24;
				b.numbers[83] = 64;
				memcpy(b.bytes + 336, "linear", 7);
				memcpy(b.bytes + 352, "7:0 0", 6);
				b.longs[47] = 99;
				b.numbers[99] = 40;
				memcpy(b.bytes + 400, "a target's name of sixteen and more", 36);
			}
			call(SYS_ioctl, -1, 0xc138fd00 | request, &b);
		}
	/* Keys that have names and keys that haven't, and fonts of every operation. */
	for (unsigned value = 0; value < 0x1100; value += value % 256 < 40 ? 1 : 27) {
		unsigned char key[4] = { value % 7, value, value, value >> 8 };

		call(SYS_ioctl, -1, 0x4b47, key);
	}
	for (unsigned operation = 0; operation < 6; operation++) {
		memset(&b, 0, 64);
		memcpy(&b, (unsigned[]){ operation, 3, 9, 8, 2, 0 }, 24);
		b.longs[3] = (long)(operation % 2 ? data + 40 : data);
		call(SYS_ioctl, -1, 0x4b72, &b);
		b.longs[1] = (long)data;
		b.numbers[0] = operation | operation << 16;
		call(SYS_ioctl, -1, 0x4b66, &b);
		call(SYS_ioctl, -1, 0x4b67, &b);
		call(SYS_ioctl, -1, 0x4b6b, &b);
		call(SYS_ioctl, -1, 0x4b6c, &b);
		call(SYS_ioctl, -1, 0x4b4b, &b);
		call(SYS_ioctl, -1, 0x4bfb, &b);
		call(SYS_ioctl, -1, 0x4b30, operation << 17 | operation * 999);
		call(SYS_ioctl, -1, 0x4b4e, operation * 13);
	}
	b.numbers[0] = 3;
	call(SYS_ioctl, -1, 0xc138fd00, &b);
	b.numbers[0] = 4;
	b.numbers[3] = 14;
	call(SYS_ioctl, -1, 0xc138fd03, &b);
	b.numbers[3] = 11;
	call(SYS_ioctl, -1, 0xc138fd03, &b);
}

int main(void) {
	static unsigned char b[8192];
	char *end = (char *)mmap(0, 8192, 3, 0x22, -1, 0) + 4096;

	munmap(end, 4096);
	for (unsigned i = 0; i < sizeof(b); i++)
		b[i] = i * 7;
	/* Whatever is given, it is told: nothing, numbers, memory, the end of memory. */
	static const unsigned requests[] = {
		/* block devices and disks */
		0x125d, 0x125e, 0x125f, 0x1262, 0x1263, 0x1277, 0x40081271, 0xc0481273, 0x80081280,
		0x301, 0x307, 0x30c, 0x31c, 0x31f, 0x323, 0x329, 0x32d,
		/* file systems */
		0xc020660b, 0xc0045877, 0xc0185879, 0x801c581f, 0x401c5820, 0x80086601, 0x40086602, 0x80046601,
		/* btrfs */
		0x9406, 0x9408, 0x941c, 0x942e, 0x40049421, 0x40089413, 0x40089416, 0x4008941a, 0x4010942a, 0x40189429,
		0x4020940d, 0x40309410, 0x40309439, 0x4040942c, 0x40489426, 0x41009432, 0x50009401, 0x50009402, 0x50009403,
		0x50009404, 0x5000940a, 0x5000940c, 0x5000940e, 0x5000940f, 0x50009417, 0x50009418, 0x80089418, 0x80089419,
		0x80189439, 0x8030942b, 0x8040942d, 0x80489439, 0x81009431, 0x8400941f, 0x84009422, 0xc0109414, 0xc0109428,
		0xc0389423, 0xc0389424, 0xc0709411, 0xc0c89425, 0xc400941b, 0xc400941d, 0xc4009420, 0xc4089434, 0xca289435,
		0xd0009411, 0xd0009412, 0xd000941e,
		/* counters of processors */
		0x2400, 0x2402, 0x40082404, 0x2405, 0x40082406, 0x80082407, 0xc008240a, 0x4008240b,
		/* lines of input and output, counters */
		0x8044b401, 0xc048b402, 0xc16cb403, 0xc030b404, 0xc040b408, 0xc040b409, 0xc054b40a, 0xc100b405, 0xc250b407,
		0xc010b40e, 0xc010b40f, 0xc110b40d, 0x40063e00, 0x3e01,
		/* input devices */
		0x80044501, 0x80084502, 0x80084503, 0x40084503, 0x80084504, 0x40284504, 0x40304580, 0x40044581, 0x40044590,
		0x400445a0, 0x80104506, 0x80084509, 0x8010450a, 0x80104518, 0x80104519, 0x80044521, 0x8004453f, 0x80184540,
		0x8018454e, 0x401845c1,
		/* clocks, watchdogs, receivers, randomness */
		0x7001, 0x80247009, 0x4024700a, 0x80287010, 0x4028700f, 0x80207011, 0x40207012, 0x80047013, 0x40187013,
		0x40187014, 0x80045705, 0xc0045706, 0x80046900, 0x40046911, 0x80045200, 0x40045201, 0x40085203, 0x5204,
		/* network block devices, loops, SCSI */
		0xab00, 0xab03, 0xab0a, 0x4c00, 0x4c01, 0x4c02, 0x4c04, 0x4c0a, 0x4c80, 0x2201, 0x2202, 0x2284,
		/* who decides about others' calls */
		0xc0502100, 0xc0182101, 0x40082102, 0x40182103,
		/* video */
		0x80685600, 0xc0405602, 0xc0d05604, 0xc0d05605, 0xc0145608, 0xc0585609, 0xc0585611, 0x8030560a, 0x4030560b,
		0x40045612, 0xc0cc5615, 0xc0cc5616, 0x40085618, 0xc0485619, 0xc050561a, 0xc008561b, 0xc008561c, 0xc054561d,
		0xc054561e, 0xc0445624, 0xc0045627, 0xc02c563a, 0xc014563b, 0x4014563c, 0xc0205647, 0xc0205648, 0xc02c564a,
		0xc034564b, 0xc100565c, 0xc0e85667,
		/* consoles */
		0x4b2f, 0x4b30, 0x4b31, 0x4b32, 0x4b33, 0x4b34, 0x4b3a, 0x4b3b, 0x4b40, 0x4b41, 0x4b44, 0x4b45, 0x4b46, 0x4b47,
		0x4b48, 0x4b49, 0x4b4a, 0x4b4b, 0x4b4c, 0x4b4d, 0x4b4e, 0x4b52, 0x4b60, 0x4b61, 0x4b62, 0x4b63, 0x4b64, 0x4b65,
		0x4b66, 0x4b67, 0x4b68, 0x4b69, 0x4b6a, 0x4b6b, 0x4b6c, 0x4b70, 0x4b71, 0x4b72, 0x4bfa, 0x4bfb,
		/* flash memory */
		0x40084d02, 0x40104d14, 0xc0104d03, 0xc0184d15, 0xc0304d18, 0x400c4d0f, 0x800c4d10, 0x80204d01, 0x80c84d0a,
		0x81484d11, 0x80104d12, 0xc0104d08, 0x4d13, 0x40986f00, 0x400c6f02, 0x51106f03, 0x40186f40, 0x40044f02,
		0x40084f03, 0x40104f06,
		/* virtual machines */
		0x4020ae46, 0x4090ae82, 0x8090ae81, 0x4138ae84, 0x8138ae83, 0xc008ae05, 0xae03, 0xae41,
		/* sockets */
		0x8902, 0x8903, 0x8910, 0x8913, 0x8914, 0x8916, 0x8918, 0x891a, 0x891c, 0x891e, 0x8922, 0x8923, 0x8924,
		0x8933, 0x8970, 0x8971, 0x89a0, 0x89a2,
		/* page faults, terminals */
		0xc018aa3f, 0xc020aa00, 0x8010aa01, 0xc028aa03, 0xc020aa04, 0x402c542b, 0x802c542a, 0x5405, 0x5406, 0x5457,
		/* the console */
		0x4b2f, 0x4b31, 0x4b32, 0x4b33, 0x4b34, 0x4b3a, 0x4b3b, 0x4b44, 0x4b45, 0x4b4c, 0x4b4d, 0x4b52, 0x4b62, 0x4b63,
		0x4b64, 0x4b65, 0x4b68, 0x4b70, 0x4b71, 0x4b40, 0x4b41,
		/* what has no name, or more than one */
		0x80044d0d, 0x40044d0b, 0x80084812, 0x12345678, 0x4ed, 0x5418, 0x5416,
	};
	for (unsigned i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		unsigned size = requests[i] >> 16 & 0x3fff;
		call(SYS_ioctl, -1, requests[i], 0);
		call(SYS_ioctl, -1, requests[i], 8);
		call(SYS_ioctl, -1, requests[i], b);
		if (size && size < 4096) {
			memcpy(end - size, b + 64, size);
			call(SYS_ioctl, -1, requests[i], end - size);
			call(SYS_ioctl, -1, requests[i], end - size + 1);
			memset(end - size, 0, size);
			call(SYS_ioctl, -1, requests[i], end - size);
		}
	}
	for (int operation = 33; operation < 65; operation++) {
		/* Those that change what comes after, and those that are told by another rule. */
		if (operation == 35 || operation == 38 || operation == 41 || operation == 59 || operation == 62)
			continue;
		call(SYS_prctl, operation, 7l << 40 | 0x40001, 8, 8, 8);
		call(SYS_prctl, operation, 3, 2, 0, 1);
	}
	call(SYS_prctl, 62, 0, 0x7fffffff, 1, end - 8);
	call(SYS_prctl, 62, 9, -1, 77, 8);
	for (int command = 0; command < 33; command++) {
		if (command == 1 || command == 14 || command == 18)
			continue;
		call(SYS_keyctl, command, 0x7ffffff0, 8, 9, -3);
		call(SYS_keyctl, command, 8, 0x7ffffff0, 0, 8);
	}
	for (unsigned command = 0x800000; command < 0x80000b; command++) {
		call(SYS_quotactl, command << 8, "nothing", 5, b);
		call(SYS_quotactl, command << 8 | 1, 8, -1, 8);
		call(SYS_quotactl_fd, -1, command << 8 | 2, 5, b);
	}
	for (unsigned command = 0x5800; command < 0x580b; command++)
		call(SYS_quotactl, command << 8 | 3, "nothing", 5, b);
	devices(end);
	call(SYS_mbind, 8, 9, 0x8002, b, 65, 0xff);
	call(SYS_mbind, 8, 9, 0x77, b, 9999999, 0);
	call(SYS_set_mempolicy, 0x4001, b, 129);
	call(SYS_set_mempolicy, 0x8009, 8, 64);
	call(SYS_get_mempolicy, b, b, 64, 8, 0xff);
	call(SYS_migrate_pages, 0x7fffffff, 64, b, end - 8);
	call(SYS_move_pages, 0x7fffffff, 2, b, b, b, 6);
	call(SYS_move_pages, 0x7fffffff, 2, end - 8, 0, 8, 0xff);
	call(SYS_fanotify_init, 0xc0ffee0c, 0x80001);
	call(SYS_fanotify_init, 5, 2);
	call(SYS_fanotify_mark, -1, 0x1ff, 0x4000003bul, -1, "nothing");
	call(SYS_fanotify_mark, -1, 0, 0, -100, 8);
	call(SYS_kexec_load, 8, 2, b, 0x3e0001);
	call(SYS_kexec_load, 8, 17, b, 0xda7a1000);
	call(SYS_io_uring_setup, 0, b);
	call(SYS_seccomp, 2, 0, (int[]){ 0x7ffc0000 });
	call(SYS_seccomp, 3, 0, b);
	call(SYS_seccomp, 3, 1, 8);
	call(SYS_seccomp, 1, 0x77, 8);
	call(SYS_seccomp, 9, 0x77, 8);
	return 0;
}
