/* texts: gives open() paths of every edge: at the end of memory with and without an end, over a page's boundary, at
 * addresses that can't be read, of 4096 bytes, with a zero byte within, at the end of memory that can only be read. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096

static void give(const char *path)
{
	syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
}

int main(void)
{
	char *pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = pages + 3 * PAGE;

	munmap(end, PAGE);
	memcpy(end - 5, "/end", 5);
	give(end - 5);
	memcpy(end - 5, "/open", 5);
	give(end - 5);
	memcpy(pages + PAGE - 4, "/boundary", 10);
	give(pages + PAGE - 4);
	give(end);
	give((char *)8);
	give((char *)-1);
	memset(pages, '/', PAGE);
	pages[PAGE - 1] = 0;
	give(pages);
	memset(pages, '/', PAGE + 1);
	pages[PAGE + 1] = 0;
	give(pages);
	memcpy(pages, "/zero\0within", 13);
	give(pages);
	memcpy(end - 5, "/read", 5);
	mprotect(end - PAGE, PAGE, PROT_READ);
	give(end - 5);
	return 0;
}
