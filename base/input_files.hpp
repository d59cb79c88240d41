// input_files.hpp — no command replaces a file that it reads, whatever either is called.
//
// The process keeps in mind which regular files it has read, and which it is to replace. A file
// that is both, by whatever name or link, is refused with an InputError at the second mention of
// it. Only while an InputFiles lives: a program that goes on after a piece of work, as one in
// Python does, may well replace what an earlier piece has read.
//
// It also keeps what was in them, so that results say what they are of, and a file that has changed
// since is noticed when they are made again.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ukemi {

// The file itself: of all its names.
using FileIdentity = std::pair<dev_t, ino_t>;

// One at a time: it is the process's.
class InputFiles {
public:
    InputFiles();
    ~InputFiles();
    InputFiles(const InputFiles&) = delete;
    InputFiles& operator=(const InputFiles&) = delete;

    static void note(const struct stat& file);                // it is read, if it is a regular one
    static void note(const std::filesystem::path& database);  // the same, of what others open

    static void note_content(const std::filesystem::path& file, std::string_view content);
    // text_digest() of what was in each file, by the name that it was read by, since the documents
    // were read that say what is to be done.
    static std::map<std::string, std::uint64_t> contents();
    static void end_of_documents();
    // What was in a file when earlier results were made; those that held something else by the
    // time they were read, each once.
    static void expect(const std::string& file, std::uint64_t digest);
    static std::vector<std::string> take_changed();
};

// A file that is to be replaced, if there is one yet.
class ReplacedFile {
public:
    // What is at `target` is called `shown`.
    ReplacedFile(std::filesystem::path shown, const std::filesystem::path& target);
    ~ReplacedFile();
    ReplacedFile(const ReplacedFile&) = delete;
    ReplacedFile& operator=(const ReplacedFile&) = delete;

    void check() const;  // again, before it is written

private:
    std::filesystem::path shown_;
    std::optional<FileIdentity> identity_;
};

}  // namespace ukemi
