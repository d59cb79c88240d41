// read_file_test.cpp — files in, plain and packed, and every way in which that goes wrong.
#include "base/read_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/file_kind.hpp"
#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "tests/scratch_folder.hpp"

using namespace ukemi;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace {

std::string gzipped(const std::string& text) {
    z_stream stream{};
    REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

// Does not pack well, and spans several of the reader's pieces.
std::string long_text() {
    RandomStream random(1, "read_file");
    std::string text;
    while (text.size() < 300'000) text += static_cast<char>(random.integer(0, 255));
    return text;
}

std::string read_complaint(const std::filesystem::path& file,
                           std::size_t bytes_max = file_bytes_max) {
    try {
        return "accepted: " + read_file(file, bytes_max).substr(0, 40);
    } catch (const InputError& error) {
        return error.what();
    }
}

}  // namespace

TEST_CASE("read_file: a mark of UTF-8 is not of the text that it stands before", "[read_file]") {
    const ScratchFolder scratch;
    scratch.file("marked.txt", "\xef\xbb\xbfGPU0");
    scratch.file("plain.txt", "GPU0");
    CHECK(read_text_file(scratch / "marked.txt") == "GPU0");
    CHECK(read_text_file(scratch / "plain.txt") == "GPU0");
    CHECK(read_file(scratch / "marked.txt").size() == 7);
}

TEST_CASE("read_file: no file has a name that is too long", "[read_file]") {
    const ScratchFolder scratch;
    scratch.file("there.txt", "");
    CHECK(is_file_named(scratch / "there.txt"));
    CHECK_FALSE(is_file_named(scratch.path()));
    CHECK_FALSE(is_file_named(scratch / std::string(300, 'x')));
}

TEST_CASE("read file: gives the bytes that are there", "[read_file]") {
    const ScratchFolder folder;
    const std::string text = GENERATE(std::string(), std::string("a\r\nb\0c", 6), long_text());
    CHECK(read_file(folder.file("plain", text)) == text);
    CHECK(read_file(folder.file("packed.gz", gzipped(text))) == text);
    CHECK(read_file(folder.file("no-suffix", gzipped(text))) == text);  // told by the magic
    CHECK(read_file(folder.file("two.gz", gzipped(text) + gzipped(text))) == text + text);
}

TEST_CASE("read file: a size at the limit is read, one more byte is refused", "[read_file]") {
    const ScratchFolder folder;
    const std::string limit(70'000, 'x');
    CHECK(read_file(folder.file("fits", limit), limit.size()) == limit);
    CHECK(read_file(folder.file("fits.gz", gzipped(limit)), limit.size()) == limit);
    CHECK_THAT(read_complaint(folder.file("large", limit + "x"), limit.size()),
               EndsWith("large: expected at most 70000 bytes, found more"));
    // 100 MB of one letter pack into about 100 kB.
    CHECK_THAT(
        read_complaint(folder.file("bomb.gz", gzipped(std::string(100'000'000, 'x'))), 1'000'000),
        EndsWith("bomb.gz: expected at most 1000000 bytes after inflating, found more"));
}

TEST_CASE("read file: what cannot be read is refused by name", "[read_file]") {
    const ScratchFolder folder;
    CHECK_THAT(read_complaint(folder.path() / "missing"),
               EndsWith("missing: cannot be opened: No such file or directory"));
    CHECK_THAT(read_complaint(folder.file("plain", "") / "below"),
               EndsWith("below: cannot be opened: Not a directory"));
    CHECK_THAT(read_complaint(folder.path()), EndsWith(": expected a file, found a directory"));
    // Nothing is mapped at address 0: opens, but does not read.
    CHECK(read_complaint("/proc/self/mem") == "/proc/self/mem: cannot be read: Input/output error");
}

TEST_CASE("read file: a pipe is read while somebody writes to it, and refused else",
          "[read_file]") {
    const ScratchFolder folder;
    const auto pipe = folder.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THAT(read_complaint(pipe), EndsWith("pipe: expected a file, found a pipe to which nobody "
                                              "writes"));
    const std::string text = long_text();
    // Opened for both, an end that writes is there before the reader looks.
    const int end = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(end >= 0);
    std::thread writer([&] {
        std::string_view left = text;
        while (!left.empty()) {
            const ssize_t count = ::write(end, left.data(), left.size());
            if (count <= 0) break;
            left.remove_prefix(static_cast<std::size_t>(count));
        }
        ::close(end);
    });
    CHECK(read_file(pipe) == text);
    writer.join();
}

TEST_CASE("write file: nothing but a regular file is replaced", "[read_file]") {
    const ScratchFolder folder;
    const auto pipe = folder.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    std::filesystem::create_symlink("/dev/null", folder.path() / "device");
    std::filesystem::create_directory(folder.path() / "folder");
    for (const char* name : {"pipe", "device", "folder"}) {
        CAPTURE(name);
        CHECK_THROWS_AS(write_file_atomically(folder.path() / name, "x"), InputError);
    }
    CHECK(std::filesystem::is_fifo(pipe));
    CHECK(folder.entries() == 3);  // no temporary file is left
    const auto file = folder.file("file", "old");
    CHECK_THROWS_AS(check_output_file(file, false), InputError);
    CHECK_NOTHROW(check_output_file(file, true));
    CHECK_NOTHROW(check_output_file(folder.path() / "new", false));
    write_file_atomically(file, "new");
    CHECK(read_file(file) == "new");
}

TEST_CASE("read file: damaged gzip data is refused", "[read_file]") {
    const ScratchFolder folder;
    const std::string packed = gzipped(long_text());
    SECTION("cut short, at any place after the magic") {
        const std::size_t size = GENERATE(2U, 5U, 11U, 1'000U, 299'000U);
        CAPTURE(size);
        CHECK_THAT(read_complaint(folder.file("cut.gz", packed.substr(0, size))),
                   EndsWith("cut.gz: is cut short in the middle of its gzip data"));
    }
    SECTION("cut short in the checksum") {
        CHECK_THAT(read_complaint(folder.file("cut.gz", packed.substr(0, packed.size() - 1))),
                   Contains("cut short"));
    }
    SECTION("cut short in the second member") {
        CHECK_THAT(read_complaint(folder.file("cut.gz", packed + packed.substr(0, 50))),
                   Contains("cut short"));
    }
    SECTION("another checksum") {
        std::string other = packed;
        other[other.size() - 6] = static_cast<char>(other[other.size() - 6] ^ 1);
        CHECK_THAT(read_complaint(folder.file("bad.gz", other)),
                   EndsWith("bad.gz: expected gzip data, found damage (incorrect data check)"));
    }
    SECTION("a header of no known method") {
        CHECK_THAT(
            read_complaint(folder.file("bad.gz", std::string("\x1f\x8b\x07\0\0\0\0\0\0\0", 10))),
            EndsWith("found damage (unknown compression method)"));
    }
    SECTION("something behind the end") {
        CHECK_THAT(read_complaint(folder.file("more.gz", packed + "more")),
                   EndsWith("more.gz: expected the end of the gzip data, found more"));
    }
}

TEST_CASE("write file: is there whole, replaces what was there, leaves nothing else",
          "[read_file]") {
    const ScratchFolder folder;
    const std::filesystem::path file = folder.path() / "result.csv";
    write_file_atomically(file, "first");
    CHECK(read_file(file) == "first");
    write_file_atomically(file, long_text());
    CHECK(read_file(file) == long_text());
    CHECK(folder.entries() == 1);
    // As readable as any file of this user, and not for its owner alone.
    std::ofstream(folder.path() / "usual") << "x";
    CHECK(std::filesystem::status(file).permissions() ==
          std::filesystem::status(folder.path() / "usual").permissions());
}

TEST_CASE("write file: a failure says which file, and leaves no temporary one", "[read_file]") {
    const ScratchFolder folder;
    SECTION("no such folder") {
        CHECK_THROWS_WITH(
            write_file_atomically(folder.path() / "none" / "a.csv", "x"),
            Contains("cannot write") && Contains("a.csv") && Contains("No such file or directory"));
    }
    SECTION("the name is a folder's") {
        std::filesystem::create_directories(folder.path() / "a.csv");
        CHECK_THROWS_AS(write_file_atomically(folder.path() / "a.csv", "x"), InputError);
    }
    CHECK(folder.entries() <= 1);
    CHECK_FALSE(std::filesystem::is_regular_file(folder.path() / "a.csv"));
}
