#include <tally/nn/file.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <tally/core/error.h>

namespace tally {

namespace {

constexpr std::size_t kLargestTransfer = std::size_t{1} << 30;  // the kernel moves at most 2 GiB a call

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// What is written goes to <mark><process>-<number> beside its target, locked while its writer lives: what can be locked
// was left by one that was killed. The target's name is no part of it, so that it fits whatever that is.
constexpr std::string_view kMark = ".tally-unfinished-";

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_partial(std::string_view name) {
  if (!name.starts_with(kMark)) return false;
  name.remove_prefix(kMark.size());
  const auto dash = name.find('-');
  return dash != std::string_view::npos && is_number(name.substr(0, dash)) && is_number(name.substr(dash + 1));
}

bool same_file(int descriptor, const std::string& path) {
  struct stat held {};
  struct stat there {};
  return ::fstat(descriptor, &held) == 0 && ::lstat(path.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
         held.st_ino == there.st_ino;
}

// For its lock alone: reading is enough, which a read-only file allows, but NFS locks only what may be written.
int open_for_lock(const std::string& partial) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int descriptor = ::open(partial.c_str(), O_RDWR | kFlags);
  return descriptor < 0 && errno == EACCES ? ::open(partial.c_str(), O_RDONLY | kFlags) : descriptor;
}

// While we hold the lock the name stays with the file: its writer renames it under the lock only.
void remove_if_left(const std::string& partial) {
  struct stat status {};
  if (::lstat(partial.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  const int descriptor = open_for_lock(partial);
  if (descriptor < 0) return;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && same_file(descriptor, partial)) ::unlink(partial.c_str());
  ::close(descriptor);
}

void remove_left_in(const std::string& folder) {
  DIR* listing = ::opendir(folder.c_str());
  if (!listing) return;
  std::vector<std::string> found;
  while (const dirent* entry = ::readdir(listing))
    if (is_partial(entry->d_name)) found.push_back(folder + "/" + entry->d_name);
  ::closedir(listing);
  for (const std::string& partial : found) remove_if_left(partial);
}

// A name that no other writer uses: the process, and a count for other threads. File systems without locks do without.
int create_in(const std::string& folder, std::string& partial) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    partial = folder + "/" + std::string(kMark) + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    const int descriptor = ::open(partial.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0) return descriptor;
    while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) continue;
    if (same_file(descriptor, partial)) return descriptor;
    ::close(descriptor);  // taken for one that was left, before it was locked
  }
  return -1;
}

// Where a path leads whose last part may be a link, also where nothing is there yet. The kernel has refused loops.
std::string follow_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // the kernel's own limit: a loop made meanwhile
  std::filesystem::path target = path;
  std::error_code not_a_link;
  for (int i = 0; i < kMostLinks; ++i) {
    const auto next = std::filesystem::read_symlink(target, not_a_link);
    if (not_a_link) break;
    target = target.parent_path() / next;
  }
  return target.string();
}

// A rename is on the disk when its folder is. File systems that cannot sync a folder say EINVAL.
bool sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno == EACCES;  // a folder that may be written but not read
  const bool synced = ::fsync(descriptor) == 0 || errno == EINVAL;
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return synced;
}

}  // namespace

void FileSite::fail(const std::string& text) const {
  throw IoError(op, path.empty() ? "the path of the file is empty" : path + ": " + text, where);
}

void FileSite::fail_errno(const std::string& text) const { fail(text + ": " + std::strerror(errno)); }

InputFile::InputFile(FileSite site)
    : site_(std::move(site)), descriptor_(::open(site_.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) site_.fail_errno("cannot be opened");
  struct stat status {};
  const bool regular = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
  if (!regular) {
    ::close(descriptor_);
    site_.fail("is not a regular file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read(std::span<std::byte> out) {
  while (!out.empty()) {
    const auto got = ::read(descriptor_, out.data(), std::min(out.size(), kLargestTransfer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) site_.fail_errno("cannot be read");
    if (got == 0) site_.fail("ends " + std::to_string(out.size()) + " bytes early");
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::vector<std::byte> read_bytes(const FileSite& site) {
  InputFile file(site);
  std::vector<std::byte> bytes(file.size());
  file.read(bytes);
  return bytes;
}

AtomicFile::AtomicFile(FileSite site) : site_(std::move(site)) {
  struct stat old {};
  const bool replaces = ::stat(site_.path.c_str(), &old) == 0;
  const bool may_appear = !site_.path.empty() && errno == ENOENT;
  if (!replaces && !may_appear) site_.fail_errno("cannot be written");
  if (replaces && !S_ISREG(old.st_mode)) site_.fail("cannot be written: is not a regular file");
  target_ = follow_links(site_.path);
  const std::string folder = folder_of(target_);
  remove_left_in(folder);
  descriptor_ = create_in(folder, partial_);
  if (descriptor_ < 0) site_.fail_errno("cannot be written");
  if (replaces) static_cast<void>(::fchmod(descriptor_, old.st_mode & 07777));
}

AtomicFile::~AtomicFile() {
  if (!partial_.empty()) ::unlink(partial_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto put = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kLargestTransfer));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) site_.fail_errno("cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) site_.fail_errno("cannot be written");
  if (std::rename(partial_.c_str(), target_.c_str()) != 0) site_.fail_errno("cannot be put in place");
  partial_.clear();
  if (::close(std::exchange(descriptor_, -1)) != 0) site_.fail_errno("cannot be written");
  if (!sync_folder(folder_of(target_))) site_.fail_errno("is written, but its folder cannot be synced");
}

void write_atomically(const std::string& path, std::span<const std::byte> bytes, Where where) {
  AtomicFile file({"write_atomically", path, where});
  file.write(bytes);
  file.commit();
}

void write_atomically(const std::string& path, std::string_view text, Where where) {
  write_atomically(path, std::as_bytes(std::span(text)), where);
}

}  // namespace tally
