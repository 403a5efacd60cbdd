/* The state of the kernel's clock for systemd-timedated in a container: synchronised if /run/heard exists. The real state
 * is the host's, which a container may not change. */

#include <sys/timex.h>
#include <unistd.h>

int adjtimex(struct timex *found) {
    found->maxerror = access("/run/heard", F_OK) == 0 ? 1000 : 16000000;
    return 0;
}
