// files_read.hpp — what was in the files that a piece of work has read: what it depends on beside
// the document that names them. One number for all of a piece of work in one thread;
// input_files.hpp keeps one a file, for a whole command.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/text_digest.hpp"

namespace ukemi {

// While one lives, it takes in what read_file() reads in this thread.
class FilesRead {
public:
    FilesRead();
    ~FilesRead();
    FilesRead(const FilesRead&) = delete;
    FilesRead& operator=(const FilesRead&) = delete;

    // Of all contents, in the order in which they were read; the same for no file at all.
    std::uint64_t digest() const { return digest_; }

    static void note(std::string_view content);  // from read_file()

private:
    std::uint64_t digest_ = text_digest_begin;
    FilesRead* around_;
};

}  // namespace ukemi
