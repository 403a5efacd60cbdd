/* A disk that loses power: an LD_PRELOAD library between a process and the files in one folder.
 *
 * Everything the process writes goes to the real files at once, as into the page cache: every reader sees it. In
 * addition the library records what every write and truncation since the last fsync of a file has changed, and which
 * files were created and deleted since the last fsync of the folder. When the power is cut, it undoes all of it, writes
 * a subset of it chosen by the seed, sector by sector, and kills the process. What remains is
 *
 *   - everything that was flushed: fsync or fdatasync of the file, for its content and its length; fsync of the folder,
 *     for the creation or deletion of the file;
 *   - any part of the rest, in any order: only a sector of 512 bytes is written as a whole or not at all.
 *
 * The other faults are errors of the Nth call. A failed flush behaves as on Linux: the kernel forgets that those pages
 * are not on the disk, so that no later flush writes them unless they are written again ("doomed" below).
 *
 * Files named *-shm are left alone: they are memory shared by processes, not data.
 *
 *   cc -shared -fPIC -O1 -o disk.so disk.c -ldl
 *   LD_PRELOAD=./disk.so python ...      then, in the process: disk_begin(folder, seed, fault, at)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR 512

/* What happens to the disk; the numbers are those of `Fault` in disk.py. */
enum { NOTHING, POWER_CUT, WRITE_FAILS, FLUSH_FAILS, FULL };

struct change {                       /* one write or truncation that was not flushed */
    off_t at;                         /* where its first sector begins */
    size_t old_len, new_len;          /* how much of these sectors was there before, and is there after it */
    unsigned char *old, *new;
    off_t old_size, new_size;         /* of the file */
    int doomed;                       /* its flush failed: no later one writes it */
    struct change *before;
};

struct file {                         /* a file of the folder, by its inode: names come and go */
    ino_t inode;
    char path[PATH_MAX];
    char grave[PATH_MAX + 64];        /* where a deleted file lies until the folder is flushed; else empty */
    int fresh;                        /* its creation was not flushed */
    struct change *last;
    struct file *next;
};

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_MAX];
static size_t folder_len;             /* 0: everything passes untouched */
static int fault;
static long fails_at, calls, flushes; /* `calls` counts all that is asked of the disk, `flushes` the flushes alone */
static uint64_t dice;
static int style;                     /* of the cut: sectors are kept rarely, evenly, mostly, always or never */
static struct file *files;
static long graves;

/* The calls of the C library underneath. */
#define REAL(type, name, ...) \
    static type (*real_##name)(__VA_ARGS__); \
    if (!real_##name) real_##name = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static ssize_t real_write_at(int fd, const void *data, size_t len, off_t at)
{
    REAL(ssize_t, pwrite64, int, const void *, size_t, off_t);
    return real_pwrite64(fd, data, len, at);
}

static int real_cut(int fd, off_t size)
{
    REAL(int, ftruncate64, int, off_t);
    return real_ftruncate64(fd, size);
}

static int real_delete(const char *path)
{
    REAL(int, unlink, const char *);
    return real_unlink(path);
}

static uint64_t throw_dice(void)      /* splitmix64: the same seed, the same cut */
{
    uint64_t z = (dice += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static int kept(void)
{
    static const int of_16[] = {1, 8, 15, 16, 0};
    return (int)(throw_dice() % 16) < of_16[style];
}

/* ---- which files ------------------------------------------------------------------------------------------------ */

static int is_ours(const char *path)
{
    size_t len = strlen(path);
    return folder_len && !strncmp(path, folder, folder_len) && path[folder_len] == '/'
        && !(len > 4 && !strcmp(path + len - 4, "-shm")) && !(len > 10 && !strcmp(path + len - 10, " (deleted)"))
        && !strstr(path, "/.grave-");
}

static int path_of(int fd, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, PATH_MAX - 1);
    if (len < 0) return 0;
    path[len] = 0;
    return 1;
}

static struct file *known(ino_t inode)
{
    struct file *file = files;
    while (file && file->inode != inode) file = file->next;
    return file;
}

static struct file *file_of(int fd)   /* NULL if it is not in the folder */
{
    char path[PATH_MAX];
    struct stat status;
    if (!folder_len || !path_of(fd, path) || !is_ours(path) || fstat(fd, &status) || !S_ISREG(status.st_mode))
        return NULL;
    struct file *file = known(status.st_ino);
    if (!file) {
        file = calloc(1, sizeof *file);
        file->inode = status.st_ino;
        file->next = files;
        files = file;
        strcpy(file->path, path);
    }
    return file;
}

static size_t read_into(int fd, unsigned char *data, size_t len, off_t at)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int own = open(link, O_RDONLY);                      /* fd itself may be open for writing only */
    ssize_t got = own < 0 ? 0 : pread(own, data, len, at);
    if (own >= 0) close(own);
    return got < 0 ? 0 : (size_t)got;
}

static void forget_changes(struct file *file, int doomed_too)
{
    struct change **place = &file->last;
    while (*place) {
        struct change *one = *place;
        if (one->doomed && !doomed_too) {
            place = &one->before;
            continue;
        }
        *place = one->before;
        free(one->old);
        free(one->new);
        free(one);
    }
}

static int covered(struct file *file, struct change *doomed, off_t at)   /* written again since, at this sector */
{
    for (struct change *later = file->last; later != doomed; later = later->before)
        if (!later->doomed && later->at <= at && at < later->at + (off_t)later->new_len) return 1;
    return 0;
}

/* A flush has come through. The length of the file is on the disk now; a doomed sector is only where it was written
 * again, else there is what was there before, or zeros. */
static void settle_doomed(int fd, struct file *file)
{
    struct stat status;
    fstat(fd, &status);
    for (struct change *one = file->last; one; one = one->before) {
        if (!one->doomed) continue;
        one->old_size = one->new_size = status.st_size;
        size_t there = status.st_size > one->at ? (size_t)(status.st_size - one->at) : 0;
        if (one->new_len > there) one->new_len = there;
        unsigned char *old = calloc(1, one->new_len + 1);
        memcpy(old, one->old, one->old_len < one->new_len ? one->old_len : one->new_len);
        free(one->old);
        one->old = old;
        one->old_len = one->new_len;
        for (size_t done = 0; done < one->new_len; done += SECTOR)
            if (covered(file, one, one->at + (off_t)done)) {
                size_t len = one->new_len - done < SECTOR ? one->new_len - done : SECTOR;
                read_into(fd, one->old + done, len, one->at + (off_t)done);
                memcpy(one->new + done, one->old + done, len);
            }
    }
}

/* ---- the cut ---------------------------------------------------------------------------------------------------- */

static void take_back(int fd, struct change *one)       /* from the last change to the first */
{
    for (; one; one = one->before) {
        real_cut(fd, one->old_size);
        if (one->old_len) real_write_at(fd, one->old, one->old_len, one->at);
    }
}

static void put_some(int fd, struct change *one)         /* from the first change to the last */
{
    if (!one) return;
    put_some(fd, one->before);
    if (!one->new_len && one->new_size != one->old_size) {
        if (kept()) real_cut(fd, one->new_size);
        return;
    }
    for (size_t done = 0; done < one->new_len; done += SECTOR) {
        size_t len = one->new_len - done < SECTOR ? one->new_len - done : SECTOR;
        if (kept()) real_write_at(fd, one->new + done, len, one->at + (off_t)done);
    }
}

static void cut_power(void)
{
    for (struct file *file = files; file; file = file->next) {
        int fd = open(*file->grave ? file->grave : file->path, O_RDWR);
        if (fd >= 0) {
            take_back(fd, file->last);
            put_some(fd, file->last);
            close(fd);
        }
        if (*file->grave) {                              /* deleted, folder not flushed: it may reappear */
            if (!kept() && access(file->path, F_OK)) rename(file->grave, file->path);
            else real_delete(file->grave);
        } else if (file->fresh && !kept())               /* created, folder not flushed: it may vanish */
            real_delete(file->path);
    }
    kill(getpid(), SIGKILL);
    for (;;) pause();                                    /* no call gets past this: the lock is still held */
}

/* Counts a call and triggers the fault due at it. Returns the errno that the call fails with, or 0. */
static int reach(int flush)
{
    calls++;
    flushes += flush;
    if (fault == POWER_CUT && calls == fails_at) cut_power();
    if (fault == WRITE_FAILS && !flush && calls >= fails_at) return fault = NOTHING, EIO;
    if (fault == FLUSH_FAILS && flush && calls >= fails_at) return fault = NOTHING, EIO;
    if (fault == FULL && !flush && calls >= fails_at) return ENOSPC;
    return 0;
}

/* ---- recording changes ------------------------------------------------------------------------------------------ */

static size_t read_sectors(int fd, off_t at, size_t len, unsigned char **data)
{
    *data = calloc(1, len + 1);
    return read_into(fd, *data, len, at);
}

static struct change *before_change(int fd, off_t from, off_t to)
{
    struct change *one = calloc(1, sizeof *one);
    struct stat status;
    fstat(fd, &status);
    one->at = from / SECTOR * SECTOR;
    one->old_size = status.st_size;
    one->old_len = read_sectors(fd, one->at, (size_t)((to + SECTOR - 1) / SECTOR * SECTOR - one->at), &one->old);
    return one;
}

static void after_change(int fd, struct file *file, struct change *one, off_t to)
{
    struct stat status;
    fstat(fd, &status);
    one->new_size = status.st_size;
    if (to > one->at)
        one->new_len = read_sectors(fd, one->at, (size_t)((to + SECTOR - 1) / SECTOR * SECTOR - one->at), &one->new);
    one->before = file->last;
    file->last = one;
}

static ssize_t write_at(int fd, struct file *file, const void *data, size_t len, off_t at)
{
    int error = reach(0);
    if (error) {
        errno = error;
        return -1;
    }
    struct change *one = before_change(fd, at, at + (off_t)len);
    ssize_t done = real_write_at(fd, data, len, at);
    after_change(fd, file, one, done > 0 ? at + done : one->at);
    return done;
}

/* ---- the calls -------------------------------------------------------------------------------------------------- */

ssize_t pwrite64(int fd, const void *data, size_t len, off_t at)
{
    pthread_mutex_lock(&one_at_a_time);
    struct file *file = file_of(fd);
    ssize_t done = file ? write_at(fd, file, data, len, at) : real_write_at(fd, data, len, at);
    pthread_mutex_unlock(&one_at_a_time);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at) { return pwrite64(fd, data, len, at); }

ssize_t write(int fd, const void *data, size_t len)
{
    REAL(ssize_t, write, int, const void *, size_t);
    if (!folder_len) return real_write(fd, data, len);
    pthread_mutex_lock(&one_at_a_time);
    struct file *file = file_of(fd);
    pthread_mutex_unlock(&one_at_a_time);                /* a pipe may block: not with the lock held */
    if (!file) return real_write(fd, data, len);
    pthread_mutex_lock(&one_at_a_time);
    off_t at = lseek(fd, 0, (fcntl(fd, F_GETFL) & O_APPEND) ? SEEK_END : SEEK_CUR);
    ssize_t done = write_at(fd, file, data, len, at);
    if (done > 0) lseek(fd, at + done, SEEK_SET);
    pthread_mutex_unlock(&one_at_a_time);
    return done;
}

int ftruncate64(int fd, off_t size)
{
    pthread_mutex_lock(&one_at_a_time);
    struct file *file = file_of(fd);
    int failed, error = file ? reach(0) : 0;
    if (error) {
        errno = error;
        failed = -1;
    } else if (file) {
        struct stat status;
        fstat(fd, &status);
        struct change *one = before_change(fd, size, status.st_size > size ? status.st_size : size);
        failed = real_cut(fd, size);
        after_change(fd, file, one, 0);
    } else
        failed = real_cut(fd, size);
    pthread_mutex_unlock(&one_at_a_time);
    return failed;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static void flush_folder(void)
{
    for (struct file **place = &files; *place;) {
        struct file *file = *place;
        file->fresh = 0;
        if (!*file->grave) {
            place = &file->next;
            continue;
        }
        real_delete(file->grave);
        forget_changes(file, 1);
        *place = file->next;
        free(file);
    }
}

static int flush(int fd)
{
    char path[PATH_MAX];
    if (!folder_len) return 0;                           /* the tests need no real flush */
    pthread_mutex_lock(&one_at_a_time);
    struct file *file = file_of(fd);
    int whole = !file && path_of(fd, path) && !strcmp(path, folder);
    int error = file || whole ? reach(1) : 0;
    if (error && file)
        for (struct change *one = file->last; one; one = one->before) one->doomed = 1;
    else if (!error && file) {
        settle_doomed(fd, file);
        forget_changes(file, 0);
    }
    else if (!error && whole)
        flush_folder();
    pthread_mutex_unlock(&one_at_a_time);
    errno = error;
    return error ? -1 : 0;
}

int fdatasync(int fd) { return flush(fd); }
int fsync(int fd) { return flush(fd); }

int unlink(const char *path)
{
    struct stat status;
    pthread_mutex_lock(&one_at_a_time);
    int failed;
    if (is_ours(path) && !stat(path, &status) && S_ISREG(status.st_mode)) {
        reach(0);
        struct file *file = known(status.st_ino);
        if (!file) {
            file = calloc(1, sizeof *file);
            file->inode = status.st_ino;
            strcpy(file->path, path);
            file->next = files;
            files = file;
        }
        snprintf(file->grave, sizeof file->grave, "%s/.grave-%d-%ld", folder, (int)getpid(), graves++);
        failed = rename(path, file->grave);
    } else
        failed = real_delete(path);
    pthread_mutex_unlock(&one_at_a_time);
    return failed;
}

int open64(const char *path, int flags, ...)
{
    REAL(int, open64, const char *, int, ...);
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list more;
        va_start(more, flags);
        mode = va_arg(more, mode_t);
        va_end(more);
    }
    int makes = folder_len && (flags & O_CREAT) && is_ours(path) && access(path, F_OK);
    int fd = real_open64(path, flags, mode);
    if (makes && fd >= 0) {
        pthread_mutex_lock(&one_at_a_time);
        struct file *file = file_of(fd);
        if (file) file->fresh = 1;
        pthread_mutex_unlock(&one_at_a_time);
    }
    return fd;
}

/* ---- for the tests ---------------------------------------------------------------------------------------------- */

/* From now on this folder is on the disk, and the fault happens at call `at`: of all, or the first of its kind. */
void disk_begin(const char *where, uint64_t seed, int what, long at)
{
    if (!realpath(where, folder)) abort();
    dice = seed;
    style = (int)(throw_dice() % 5);
    fault = what;
    fails_at = at;
    calls = flushes = 0;
    folder_len = strlen(folder);
}

/* Switch to another fault; unflushed changes stay recorded. */
void disk_next(int what, long in)
{
    fault = what;
    fails_at = calls + in;
}

/* There is room again. */
void disk_mend(void) { fault = NOTHING; }

long disk_calls(void) { return calls; }
