/* whose: ends with 0 if the effective user is root, with 1 if not. */
#include <unistd.h>

int main(void)
{
	return geteuid() != 0;
}
