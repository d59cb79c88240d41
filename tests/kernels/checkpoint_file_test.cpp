// checkpoint_file_test.cpp — what is written comes back, and nothing else is taken for it.
#include "kernels/checkpoint_file.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>

#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "base/rng.hpp"
#include "tests/scratch_folder.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace {

Checkpoint checkpoint_of(std::size_t state_bytes, std::int64_t step) {
    RandomStream random(static_cast<std::uint64_t>(step), "checkpoint");
    Checkpoint checkpoint{.job = 0x123456789abcdef0U,
                          .step = step,
                          .position = step * 64,
                          .plan_version = 5,
                          .state = {}};
    for (std::size_t i = 0; i < state_bytes; ++i) {
        checkpoint.state.push_back(static_cast<std::byte>(random.integer(0, 255)));
    }
    return checkpoint;
}

std::string complaint(std::string_view bytes) {
    try {
        parse_checkpoint(bytes, "c");
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

std::string bytes_of(const Checkpoint& checkpoint) {
    const ScratchFolder folder;
    write_checkpoint(folder.path() / "c", checkpoint);
    return read_file(folder.path() / "c");
}

// Tries to write in a process whose files may not grow beyond `bytes_max`; its exit status.
int write_with_limit(const std::filesystem::path& file, const Checkpoint& checkpoint,
                     rlim_t bytes_max) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGXFSZ, SIG_IGN);  // then write() says EFBIG
        const rlimit limit{bytes_max, bytes_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        try {
            write_checkpoint(file, checkpoint);
        } catch (const std::system_error& error) {
            ::_exit(error.code() == std::errc::file_too_large ? 3 : 4);
        }
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("checkpoint file: what is written is read", "[checkpoint_file]") {
    const ScratchFolder folder;
    const auto file = folder.path() / "latest.ukemi";
    for (const std::size_t size : {0U, 1U, 7U, 100'000U}) {
        const Checkpoint checkpoint = checkpoint_of(size, 10);
        CHECK(write_checkpoint(file, checkpoint) == static_cast<std::int64_t>(size + 64));
        CHECK(std::filesystem::file_size(file) == size + 64);
        CHECK(read_checkpoint(file) == checkpoint);
    }
    CHECK(folder.entries() == 1);  // no temporary file stays
}

TEST_CASE("checkpoint file: a full disk leaves the older file as it was", "[checkpoint_file]") {
    const ScratchFolder folder;
    const auto file = folder.path() / "latest.ukemi";
    const Checkpoint older = checkpoint_of(5'000, 1);
    write_checkpoint(file, older);
    const Checkpoint newer = checkpoint_of(50'000, 2);
    const auto bytes_max = static_cast<rlim_t>(GENERATE(0, 1, 64, 4'096, 50'063));
    CAPTURE(bytes_max);
    CHECK(write_with_limit(file, newer, bytes_max) == 3);
    CHECK(read_checkpoint(file) == older);
    CHECK(folder.entries() == 1);
    CHECK(write_with_limit(file, newer, 50'064) == 0);
    CHECK(read_checkpoint(file) == newer);
}

TEST_CASE("checkpoint file: a place that cannot be written to is said", "[checkpoint_file]") {
    const ScratchFolder folder;
    const auto plain = folder.file("plain", "x");
    CHECK_THROWS_AS(write_checkpoint(plain / "below", checkpoint_of(10, 1)), std::system_error);
    CHECK_THROWS_AS(write_checkpoint(folder.path() / "missing/below", checkpoint_of(10, 1)),
                    std::system_error);
    // A folder stands where the file should: refused, and nothing is left behind.
    std::filesystem::create_directories(folder.path() / "taken/deeper");
    CHECK_THROWS_AS(write_checkpoint(folder.path() / "taken", checkpoint_of(10, 1)), InputError);
    CHECK(folder.entries() == 2);
}

TEST_CASE("checkpoint file: every flipped bit is found", "[checkpoint_file][property]") {
    const std::string good = bytes_of(checkpoint_of(50, 3));
    REQUIRE(complaint(good) == "accepted");
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
        std::string damaged = good;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
        CAPTURE(bit);
        REQUIRE(complaint(damaged) != "accepted");
    }
}

TEST_CASE("checkpoint file: every cut is found", "[checkpoint_file][property]") {
    const std::string good = bytes_of(checkpoint_of(50, 3));
    for (std::size_t size = 0; size < good.size(); ++size) {
        CAPTURE(size);
        const std::string problem = complaint(good.substr(0, size));
        REQUIRE_THAT(problem, size < 8 ? Contains("of another kind") : Contains("is cut short"));
    }
    CHECK(complaint(good.substr(0, 20)) == "c: is cut short: 20 bytes are less than its header");
    CHECK(complaint(good.substr(0, 80)) ==
          "c: is cut short: expected 50 bytes after the header, found 16");
    CHECK(complaint(good + "x") == "c: is too long: expected 50 bytes after the header, found 51");
}

TEST_CASE("checkpoint file: what is wrong is said", "[checkpoint_file]") {
    const std::string good = bytes_of(checkpoint_of(50, 3));
    CHECK(complaint("") == "c: expected a checkpoint, found a file of another kind");
    CHECK(complaint("{\"step\": 3}") == "c: expected a checkpoint, found a file of another kind");
    std::string other = good;
    other[12] = 2;
    CHECK(complaint(other) == "c: expected a checkpoint of form 1, found form 2");
    other = good;
    std::swap(other[8], other[11]);
    CHECK_THAT(complaint(other), Contains("byte order"));
    other = good;
    other[24] = 4;
    CHECK(complaint(other) == "c: is damaged: its header has another checksum");
    other = good;
    other[70] = static_cast<char>(other[70] + 1);
    CHECK(complaint(other) == "c: is damaged: its state has another checksum");
    CHECK_THAT(
        complaint(bytes_of({.job = 1, .step = -1, .position = 0, .plan_version = 0, .state = {}})),
        Contains("found step -1 and position 0"));
    const ScratchFolder folder;
    CHECK_THROWS_WITH(read_checkpoint(folder.path() / "none"),
                      EndsWith("none: cannot be opened: No such file or directory"));
    CHECK_THROWS_AS(read_checkpoint(folder.path()), InputError);
}

TEST_CASE("checkpoint file: of what is none, only a header is read", "[checkpoint_file]") {
    const ScratchFolder folder;
    const auto complaint_of_file = [](const std::filesystem::path& file) -> std::string {
        try {
            read_checkpoint(file);
        } catch (const InputError& error) {
            return error.what();
        }
        return "accepted";
    };
    // All of it could neither be read in the time of a test nor be held.
    const auto vast = folder.file("vast", "x");
    std::filesystem::resize_file(vast, std::uintmax_t{1} << 35);
    CHECK_THAT(complaint_of_file(vast), EndsWith("found a file of another kind"));
    // With a header that is right, the size of the file is compared before the state is read.
    const auto long_one = folder.file("long", bytes_of(checkpoint_of(50, 3)));
    std::filesystem::resize_file(long_one, std::uintmax_t{1} << 35);
    CHECK_THAT(complaint_of_file(long_one), Contains("is too long: expected 50 bytes"));
    const auto pipe = folder.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);  // that nobody writes to
    CHECK_THAT(complaint_of_file(pipe), EndsWith("expected a file, found a pipe or a device"));
    CHECK_THAT(complaint_of_file("/dev/zero"), EndsWith("found a pipe or a device"));
    CHECK_THAT(complaint_of_file(folder.path()), EndsWith("expected a file, found a directory"));
}

TEST_CASE("checkpoint file: nothing is inflated", "[checkpoint_file]") {
    const ScratchFolder folder;
    const auto file = folder.path() / "c.gz";
    const std::string good = bytes_of(checkpoint_of(50, 3));
    const gzFile packed = ::gzopen(file.c_str(), "wb");
    REQUIRE(packed != nullptr);
    CHECK(::gzwrite(packed, good.data(), static_cast<unsigned>(good.size())) > 0);
    REQUIRE(::gzclose(packed) == Z_OK);
    CHECK_THROWS_WITH(read_checkpoint(file), EndsWith("found a file of another kind"));
}

TEST_CASE("checkpoint file: counts that nothing could be added to are refused",
          "[checkpoint_file]") {
    const auto with = [](std::int64_t step, std::int64_t position) {
        return complaint(bytes_of(
            {.job = 1, .step = step, .position = position, .plan_version = 0, .state = {}}));
    };
    constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    CHECK(with(1, 8) == "accepted");
    CHECK_THAT(with(largest, 8), Contains("found step 9223372036854775807"));
    CHECK_THAT(with(1, largest), Contains("position 9223372036854775807"));
}
