#include "base/files_read.hpp"

#include <utility>

namespace ukemi {

namespace {

thread_local FilesRead* innermost_reading = nullptr;

}  // namespace

FilesRead::FilesRead() : around_(std::exchange(innermost_reading, this)) {}

FilesRead::~FilesRead() { innermost_reading = around_; }

void FilesRead::note(std::string_view content) {
    for (FilesRead* one = innermost_reading; one != nullptr; one = one->around_) {
        one->digest_ = text_digest(content, one->digest_);
    }
}

}  // namespace ukemi
