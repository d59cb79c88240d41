#include "base/spool.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/read_file.hpp"
#include "tests/scratch_folder.hpp"

using namespace ukemi;

namespace {

std::string all_of(const SpooledText& text) {
    std::string all;
    text.give([&](std::string_view piece) { all += piece; });
    return all;
}

}  // namespace

TEST_CASE("spool: texts that grow at once come out whole, and leave no name", "[spool]") {
    const ScratchFolder scratch;
    Spool spool(scratch.path());
    std::vector<SpooledText> texts(4, SpooledText(spool));
    std::vector<std::string> expected(texts.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        threads.emplace_back([&, i] {
            for (std::size_t part = 0; part < 40; ++part) {
                const std::string text(part * 997, static_cast<char>('a' + i));
                texts[i].add(text);
                expected[i] += text;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < texts.size(); ++i) CHECK(all_of(texts[i]) == expected[i]);
    CHECK(all_of(texts[0]) == expected[0]);  // again
    CHECK(std::filesystem::is_empty(scratch.path()));
}

TEST_CASE("spool: a file is written of its pieces", "[spool]") {
    const ScratchFolder scratch;
    Spool spool(scratch.path());
    SpooledText text(spool);
    CHECK(all_of(text).empty());
    text.add("one,");
    text.add("two\n");
    write_file_atomically(scratch.path() / "a.csv", [&](const TextTaker& take) {
        take("head\n");
        text.give(take);
    });
    CHECK(read_file(scratch.path() / "a.csv") == "head\none,two\n");
}

TEST_CASE("spool: a folder that is not there is said", "[spool]") {
    CHECK_THROWS_AS(Spool("/nowhere/at/all"), std::system_error);
}
