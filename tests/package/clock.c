/* What the kernel says of its clock, for systemd-timedated in a container: a time server has been heard when /run/heard
 * is there. The real answer is the host's, which no container may change. */

#include <sys/timex.h>
#include <unistd.h>

int adjtimex(struct timex *found) {
    found->maxerror = access("/run/heard", F_OK) == 0 ? 1000 : 16000000;
    return 0;
}
