#include "base/input_files.hpp"

#include <map>
#include <mutex>
#include <set>

#include "base/input_error.hpp"
#include "base/invariant.hpp"

namespace ukemi {

namespace {

struct KnownFiles {
    std::mutex mutex;
    bool minded = false;  // an InputFiles lives
    std::set<FileIdentity> read;
    std::map<FileIdentity, std::filesystem::path> replaced;
};

KnownFiles& known_files() {
    static KnownFiles known;
    return known;
}

[[noreturn]] void refuse_to_replace(const std::filesystem::path& shown) {
    throw InputError(shown.string(), "",
                     "is read here, and would be replaced: name another file to write to");
}

}  // namespace

InputFiles::InputFiles() {
    KnownFiles& known = known_files();
    const std::scoped_lock lock(known.mutex);
    INVARIANT(!known.minded);
    known.minded = true;
}

InputFiles::~InputFiles() {
    KnownFiles& known = known_files();
    const std::scoped_lock lock(known.mutex);
    known.minded = false;
    known.read.clear();
}

void InputFiles::note(const struct stat& file) {
    if (!S_ISREG(file.st_mode)) return;
    KnownFiles& known = known_files();
    const std::scoped_lock lock(known.mutex);
    if (!known.minded) return;
    const FileIdentity identity{file.st_dev, file.st_ino};
    const auto replaced = known.replaced.find(identity);
    if (replaced != known.replaced.end()) refuse_to_replace(replaced->second);
    known.read.insert(identity);
}

void InputFiles::note(const std::filesystem::path& database) {
    struct stat about {};
    if (::stat(database.c_str(), &about) == 0) note(about);
}

ReplacedFile::ReplacedFile(std::filesystem::path shown, const std::filesystem::path& target)
    : shown_(std::move(shown)) {
    struct stat about {};
    if (::stat(target.c_str(), &about) != 0) return;
    identity_ = FileIdentity{about.st_dev, about.st_ino};
    check();
    KnownFiles& known = known_files();
    const std::scoped_lock lock(known.mutex);
    known.replaced.emplace(*identity_, shown_);
}

ReplacedFile::~ReplacedFile() {
    if (!identity_) return;
    KnownFiles& known = known_files();
    const std::scoped_lock lock(known.mutex);
    known.replaced.erase(*identity_);
}

// A reader may have taken the refusal for a file that cannot be read, and gone on.
void ReplacedFile::check() const {
    if (!identity_) return;
    KnownFiles& known = known_files();
    const std::scoped_lock lock(known.mutex);
    if (known.minded && known.read.contains(*identity_)) refuse_to_replace(shown_);
}

}  // namespace ukemi
