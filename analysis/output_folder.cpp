// output_folder.cpp — the lock comes first: all that follows may rely on being alone with the
// names that begin with a dot and the target's own.
#include "analysis/output_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <system_error>
#include <thread>

#include "analysis/written_files.hpp"
#include "base/file_kind.hpp"
#include "base/input_error.hpp"
#include "base/read_file.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const fs::path& shown, std::string_view why) {
    throw InputError(shown.string(), "", why);
}

[[noreturn]] void fail(const fs::path& path, std::string_view what, int error) {
    throw std::system_error(error, std::generic_category(),
                            fmt::format("{}: {}", path.string(), what));
}

fs::path folder_of(const fs::path& path) {
    return path.has_parent_path() ? path.parent_path() : ".";
}

// A name beside the target that is ours: ".out.lock".
fs::path beside(const fs::path& target, std::string_view ending) {
    return folder_of(target) / fmt::format(".{}.{}", target.filename().string(), ending);
}

// Without "./" and a slash at the end; a link is followed, so that what it names is replaced.
fs::path resolved(const fs::path& named) {
    const fs::path clean = fs::path(named.string()).lexically_normal();
    const fs::path target = clean.has_filename() ? clean : clean.parent_path();
    if (!fs::is_symlink(target)) return target;
    std::error_code broken;
    const fs::path end = fs::canonical(target, broken);
    if (broken) refuse(named, "is a symbolic link that leads nowhere");
    return end;
}

bool is_mount_point(const fs::path& folder) {
    struct statx about {};
    if (::statx(AT_FDCWD, folder.c_str(), 0, STATX_BASIC_STATS, &about) == 0 &&
        (about.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) {
        return (about.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    }
    struct stat own {};  // before Linux 5.8
    struct stat outer {};
    return ::stat(folder.c_str(), &own) == 0 && ::stat((folder / "..").c_str(), &outer) == 0 &&
           own.st_dev != outer.st_dev;
}

bool holds(const fs::path& folder, const fs::path& inner) {
    return std::ranges::mismatch(folder, inner).in1 == folder.end();
}

// The target, if it can be replaced as a whole.
fs::path replaceable(const fs::path& named) {
    const fs::path target = resolved(named);
    if (target.empty()) refuse(named, "expected a folder, found nothing");
    if (!fs::exists(target)) return target;
    if (!fs::is_directory(target)) refuse(named, "expected a folder, found a file");
    const fs::path whole = fs::canonical(target);
    constexpr std::string_view instead = "which cannot be replaced: name a folder of its own";
    if (whole == whole.root_path()) refuse(named, fmt::format("is the root, {}", instead));
    if (holds(whole, fs::current_path())) {
        refuse(named, fmt::format("is the folder you are in or holds it, {}", instead));
    }
    if (is_mount_point(whole)) refuse(named, fmt::format("is a mount point, {}", instead));
    const bool has_name = target.has_filename() && target.filename() != "..";
    return has_name ? target : whole;
}

// Tells the user now what would fail after hours of runs: the nearest folder that is there must be
// one to write into.
void check_writable(fs::path folder) {
    folder = fs::absolute(folder);
    while (!fs::exists(folder) && folder.has_relative_path()) folder = folder.parent_path();
    if (!fs::is_directory(folder)) refuse(folder, "expected a folder, found a file");
    if (::access(folder.c_str(), W_OK | X_OK) != 0) fail(folder, "cannot be written to", errno);
}

bool is_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_empty_folder(const fs::path& folder) {
    std::error_code none;
    return fs::is_directory(folder) && fs::is_empty(folder, none);
}

// A name that is free, and that nobody overlooks.
fs::path kept_name(const fs::path& target) {
    const std::string first = fmt::format("{}-kept-{}", target.string(), ::getpid());
    fs::path name = first;
    for (int i = 2; fs::exists(fs::symlink_status(name)); ++i)
        name = fmt::format("{}-{}", first, i);
    return name;
}

// What runs wrote is removed; what they did not is given a name that can be seen.
void remove_earlier(const fs::path& folder, const fs::path& target) {
    if (!has_manifest(folder)) {  // was never finished
        // A program that the dead run had started may still write there: the next run removes that.
        std::error_code later;
        fs::remove_all(folder, later);
    } else if (!remove_written(folder)) {
        const fs::path kept = kept_name(target);
        fs::rename(folder, kept);
        fmt::print(stderr, "{}: files that no run wrote were there, and are kept here\n",
                   kept.string());
    }
}

// Only the holder of the lock has names like these, so the process that left them is dead.
void sweep(const fs::path& target) {
    const fs::path old = beside(target, "old");
    if (fs::is_directory(fs::symlink_status(old))) {
        if (!fs::exists(fs::symlink_status(target))) {
            fs::rename(old, target);  // it died between two renames
        } else {
            remove_earlier(old, target);
        }
    }
    const std::string begin = beside(target, "partial-").filename().string();
    std::vector<fs::path> left;
    for (const auto& entry : fs::directory_iterator(folder_of(target))) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(begin) && is_number(std::string_view(name).substr(begin.size())) &&
            fs::is_directory(entry.symlink_status())) {
            left.push_back(folder_of(target) / name);
        }
    }
    for (const fs::path& folder : left) remove_earlier(folder, target);
}

// Parts of the target are replaced by themselves, too (ukemi plot): by nobody now, and what a dead
// process left of that is swept.
void sweep_parts(const fs::path& target, const fs::path& shown) {
    constexpr std::string_view ending = ".lock";
    std::vector<fs::path> parts;
    for (const auto& entry : fs::directory_iterator(target)) {
        const std::string name = entry.path().filename().string();
        if (name.size() <= ending.size() + 1 || !name.starts_with('.')) continue;
        if (!name.ends_with(ending)) continue;
        parts.push_back(target / name.substr(1, name.size() - ending.size() - 1));
    }
    for (const fs::path& part : parts) {
        const OutputLock lock(part, shown);
        sweep(part);
    }
}

void save_names_in(const fs::path& folder) {
    // Not every file system can, and nothing depends on it while the machine lives.
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    static_cast<void>(::fsync(descriptor));
    ::close(descriptor);
}

// Both names are there before and after; false where the file system cannot.
bool exchanged(const fs::path& one, const fs::path& other) {
    if (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0) {
        return true;
    }
    if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) return false;
    fail(other, "cannot be replaced", errno);
}

}  // namespace

// ---- the lock ----------------------------------------------------------------------------------

namespace {

// What a handler of a signal may look at: nothing here is allocated, or freed again.
struct HeldLock {
    std::atomic<bool> is_taken = false;
    std::atomic<pid_t> holder = 0;  // a child between fork and exec holds none; 0: nobody yet
    std::array<char, 4096> file{};
};
std::array<HeldLock, 64> held_locks;  // more at once are not removed by a handler

int note_lock(const fs::path& file) {
    const std::string whole = fs::absolute(file).string();
    for (std::size_t i = 0; i < held_locks.size(); ++i) {
        HeldLock& held = held_locks[i];
        if (whole.size() >= held.file.size() || held.is_taken.exchange(true)) continue;
        held.file.fill('\0');
        std::ranges::copy(whole, held.file.begin());
        held.holder = ::getpid();
        return static_cast<int>(i);
    }
    return -1;
}

// Signals that end a command come later: between a lock and its note a handler knows of neither.
class SignalsLater {
public:
    SignalsLater() {
        sigset_t ending;
        sigemptyset(&ending);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
        ::pthread_sigmask(SIG_BLOCK, &ending, &before_);
    }
    ~SignalsLater() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsLater(const SignalsLater&) = delete;
    SignalsLater& operator=(const SignalsLater&) = delete;

private:
    sigset_t before_{};
};

void forget_lock(int noted) {
    if (noted < 0) return;
    HeldLock& held = held_locks[static_cast<std::size_t>(noted)];
    held.holder = 0;
    held.is_taken = false;
}

}  // namespace

void remove_held_locks() {
    for (HeldLock& held : held_locks) {
        if (held.holder == ::getpid()) ::unlink(held.file.data());
    }
}

OutputLock::OutputLock(const fs::path& target, const fs::path& shown)
    : file_(beside(target, "lock")) {
    // A process that was killed may have had a child between fork and exec, which holds its files
    // for a moment more.
    constexpr std::chrono::milliseconds moment{20};
    for (int looks = 25;;) {
        const SignalsLater later;
        descriptor_ = ::open(file_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (descriptor_ < 0) fail(folder_of(target), "cannot be written to", errno);
        struct stat held {};
        struct stat named {};
        const bool locked = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
        const int error = errno;
        const bool known = ::fstat(descriptor_, &held) == 0;
        const bool same = known && ::stat(file_.c_str(), &named) == 0 &&
                          held.st_ino == named.st_ino && held.st_dev == named.st_dev;
        if (locked && same && held.st_size == 0) {
            noted_ = note_lock(file_);
            return;
        }
        ::close(descriptor_);
        if (!locked && error == EWOULDBLOCK) {
            if (--looks > 0) {
                std::this_thread::sleep_for(moment);
                continue;
            }
            refuse(shown, fmt::format("another process is writing there now (it holds {})",
                                      file_.string()));
        }
        if (!locked) fail(file_, "cannot be locked", error);
        if (same) refuse(file_, "expected an empty file, as a lock is, found another");
        // Its last holder removed it in between: anew.
    }
}

OutputLock::~OutputLock() {
    const SignalsLater later;
    forget_lock(noted_);
    ::unlink(file_.c_str());  // while it is held: nobody else's
    ::close(descriptor_);
}

// ---- folders on the way ------------------------------------------------------------------------

MadeFolders::MadeFolders(const fs::path& folder) {
    check_writable(folder);
    std::vector<fs::path> missing;
    for (fs::path one = folder; !one.empty() && !fs::exists(one); one = one.parent_path()) {
        missing.push_back(one);
    }
    while (!missing.empty()) {
        if (fs::create_directory(missing.back())) made_.push_back(missing.back());
        missing.pop_back();
    }
}

MadeFolders::~MadeFolders() {
    for (; !made_.empty(); made_.pop_back()) {
        if (::rmdir(made_.back().c_str()) != 0) return;
    }
}

// ---- a folder ----------------------------------------------------------------------------------

OutputFolder::OutputFolder(const fs::path& folder, bool force)
    : shown_(folder),
      target_(replaceable(folder)),
      force_(force),
      made_(folder_of(target_)),
      lock_(target_, shown_) {
    sweep(target_);
    if (!fs::exists(target_)) return;
    sweep_parts(target_, shown_);
    if (is_empty_folder(target_)) return;
    if (!has_manifest(target_)) {
        refuse(shown_, fs::exists(target_ / "run.json")
                           ? "holds results of an earlier version, without a list of the files "
                             "that may be replaced: move them away"
                           : "is there and is no results folder");
    }
    if (!force_) refuse(shown_, "results are there already; --force replaces them");
    refuse_foreign("it would be lost: move it away");
}

OutputFolder::~OutputFolder() {
    if (staging_.empty()) return;
    std::error_code ignored;
    fs::remove_all(staging_, ignored);
}

void OutputFolder::refuse_foreign(const std::string& otherwise) const {
    const auto foreign = foreign_file(target_);
    if (!foreign) return;
    refuse(shown_ / foreign->file.lexically_relative(target_),
           fmt::format("{}, and {}", foreign->why, otherwise));
}

const fs::path& OutputFolder::staging() {
    if (staging_.empty()) {
        const fs::path folder = beside(target_, fmt::format("partial-{}", ::getpid()));
        fs::create_directory(folder);
        staging_ = folder;
        staged_ = folder;
    }
    return staging_;
}

fs::path OutputFolder::around() const { return folder_of(target_); }

void OutputFolder::write(const fs::path& file, const std::string& text) {
    write(file, [&](const TextTaker& take) { take(text); });
}

void OutputFolder::write(const fs::path& file, const TextPieces& text) {
    const fs::path place = staging() / file;
    fs::create_directories(place.parent_path());
    write_file_atomically(place, text);
}

void OutputFolder::set_apart(const fs::path& part) {
    if (fs::is_directory(staging() / part)) write_manifest(staging() / part);
}

void OutputFolder::commit() {
    write_manifest(staging());
    try {
        place();
    } catch (const InputError& error) {
        const fs::path kept = keep_beside();
        refuse(kept, fmt::format("holds the results now, as {}", error.what()));
    } catch (const std::system_error& error) {
        const fs::path kept = keep_beside();
        throw std::runtime_error(
            fmt::format("{}: holds the results now, as {}", kept.string(), error.what()));
    }
    save_names_in(folder_of(target_));
}

void OutputFolder::place() {
    if (!fs::exists(target_) || is_empty_folder(target_)) {
        // Takes the place of an empty folder, too, and of nothing else.
        std::error_code error;
        fs::rename(staging_, target_, error);
        if (!error) return staging_.clear();
        if (error != std::errc::directory_not_empty && error != std::errc::file_exists) {
            fail(target_, "cannot be made", error.value());
        }
    }
    if (!force_ || !has_manifest(target_)) refuse(shown_, "was filled while this ran");
    refuse_foreign("it came while this ran");
    fs::path old = staging_;
    if (!exchanged(staging_, target_)) {
        old = beside(target_, "old");
        fs::rename(target_, old);
        fs::rename(staging_, target_);
    }
    staging_.clear();
    save_names_in(folder_of(target_));  // before the old one is gone
    remove_earlier(old, target_);
}

fs::path OutputFolder::keep_beside() {
    const fs::path kept = kept_name(target_);
    fs::rename(staging_, kept);
    staging_.clear();
    return kept;
}

void OutputFolder::add(const fs::path& file, const std::string& text) {
    if (fs::exists(target_ / file)) refuse(shown_ / file, "came while this ran, and is kept");
    announce_file(target_, file, text);
    write_file_atomically(target_ / file, text);
}

plots::FigureResult OutputFolder::settled(plots::FigureResult figures) const {
    const std::string before = staged_.string();
    if (before.empty()) return figures;
    for (fs::path& file : figures.files) file = shown_ / file.lexically_relative(staged_);
    std::size_t at = 0;
    while ((at = figures.problem.find(before, at)) != std::string::npos) {
        figures.problem.replace(at, before.size(), shown_.string());
        at += shown_.string().size();
    }
    return figures;
}

// ---- a file ------------------------------------------------------------------------------------

namespace {

fs::path checked_output_file(const fs::path& named, bool force) {
    const fs::path target = resolved(named);
    check_output_file(named, force);
    const fs::path folder = folder_of(target);
    if (!fs::is_directory(folder)) refuse(folder, "expected a folder, found none");
    check_writable(folder);
    return target;
}

// write_file_atomically() calls its temporary files FILE.tmp-PID-N.
void sweep_temporary_files(const fs::path& target) {
    const std::string begin = target.filename().string() + ".tmp-";
    std::vector<fs::path> left;
    for (const auto& entry : fs::directory_iterator(folder_of(target))) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(begin)) continue;
        const std::string numbers = name.substr(begin.size());
        const std::size_t dash = numbers.find('-');
        if (dash == std::string::npos || dash > 9 || !is_number(numbers.substr(0, dash)) ||
            !is_number(numbers.substr(dash + 1))) {
            continue;
        }
        const bool dead = ::kill(std::stoi(numbers), 0) != 0 && errno == ESRCH;
        if (dead) left.push_back(entry.path());
    }
    std::error_code ignored;
    for (const fs::path& file : left) fs::remove(file, ignored);
}

}  // namespace

OutputFile::OutputFile(const fs::path& file, bool force)
    : shown_(file),
      target_(checked_output_file(file, force)),
      force_(force),
      lock_(target_, shown_),
      replaced_(shown_, target_) {
    check_output_file(shown_, force_);  // again: the last holder may have written it
    sweep_temporary_files(target_);
}

fs::path OutputFile::around() const { return folder_of(target_); }

void OutputFile::write(const std::string& text) {
    write([&](const TextTaker& take) { take(text); });
}

void OutputFile::write(const TextPieces& text) {
    check_output_file(shown_, force_);
    replaced_.check();
    write_file_atomically(target_, text);
}

// ---- figures -----------------------------------------------------------------------------------

bool say_figures(const plots::FigureResult& figures) {
    for (const std::string& note : figures.notes) fmt::print(stderr, "{}\n", note);
    if (!figures.problem.empty()) fmt::print(stderr, "figures: {}\n", figures.problem);
    return figures.problem.empty() || figures.skipped;
}

}  // namespace ukemi::analysis
