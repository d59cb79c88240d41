#include "base/input_files.hpp"

#include <mutex>
#include <set>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "base/text_digest.hpp"

namespace ukemi {

namespace {

struct KnownFiles {
    std::mutex mutex;
    bool minded = false;  // an InputFiles lives
    std::set<FileIdentity> read;
    std::map<FileIdentity, std::filesystem::path> replaced;
    std::map<std::string, std::uint64_t> contents;
    std::map<std::string, std::uint64_t> expected;
    std::set<std::string> changed;
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
    known.contents.clear();
    known.expected.clear();
    known.changed.clear();
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

void InputFiles::note_content(const std::filesystem::path& file, std::string_view content) {
    KnownFiles& known = known_files();
    const std::scoped_lock lock(known.mutex);
    if (!known.minded) return;
    const std::string name = file.string();
    const std::uint64_t digest = text_digest(content);
    known.contents[name] = digest;
    const auto expected = known.expected.find(name);
    if (expected != known.expected.end() && expected->second != digest) known.changed.insert(name);
}

std::map<std::string, std::uint64_t> InputFiles::contents() {
    KnownFiles& known = known_files();
    const std::scoped_lock lock(known.mutex);
    return known.contents;
}

void InputFiles::end_of_documents() {
    KnownFiles& known = known_files();
    const std::scoped_lock lock(known.mutex);
    known.contents.clear();
}

void InputFiles::expect(const std::string& file, std::uint64_t digest) {
    KnownFiles& known = known_files();
    const std::scoped_lock lock(known.mutex);
    if (known.minded) known.expected[file] = digest;
}

std::vector<std::string> InputFiles::take_changed() {
    KnownFiles& known = known_files();
    const std::scoped_lock lock(known.mutex);
    std::vector<std::string> changed{known.changed.begin(), known.changed.end()};
    known.changed.clear();
    return changed;
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
