// files_read_test.cpp — what was read is known by its content, in this thread and while one looks.
#include "base/files_read.hpp"

#include <catch2/catch.hpp>

#include "base/read_file.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {

TEST_CASE("files read: the digest is of the contents, in their order", "[files_read]") {
    const ScratchFolder scratch;
    const auto one = scratch.file("one", "first");
    const auto two = scratch.file("two", "second");
    const auto digest_of = [](std::initializer_list<std::filesystem::path> files) {
        const FilesRead read;
        for (const auto& file : files) read_file(file);
        return read.digest();
    };
    CHECK(digest_of({}) == text_digest_begin);
    CHECK(digest_of({one}) == text_digest("first"));
    CHECK(digest_of({one, two}) == text_digest("firstsecond"));
    CHECK(digest_of({two, one}) != digest_of({one, two}));
    CHECK(digest_of({scratch.file("other-name", "first")}) == digest_of({one}));
    CHECK(digest_of({scratch.file("one", "First")}) != text_digest("first"));
}

TEST_CASE("files read: an outer one takes in what an inner one does", "[files_read]") {
    const ScratchFolder scratch;
    const auto file = scratch.file("one", "first");
    const FilesRead outer;
    {
        const FilesRead inner;
        read_file(file);
        CHECK(inner.digest() == text_digest("first"));
    }
    CHECK(outer.digest() == text_digest("first"));
    read_file(file);
    CHECK(outer.digest() == text_digest("firstfirst"));
}

}  // namespace ukemi
