// doubtful_test.cpp — ways to get a result that means nothing, each with the warning or the error
// that says so (doubtful/ways.tsv).
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<std::string> parts_of(const std::string& line, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(line);
    for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
    return parts;
}

struct Way {
    std::string name, command, patch, options, outcome, text;
};

std::vector<Way> all_ways(const fs::path& folder) {
    std::vector<Way> ways;
    std::istringstream lines(text_in(folder / "ways.tsv"));
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line.front() == '#') continue;
        const auto cells = parts_of(line, '\t');
        REQUIRE(cells.size() == 6);
        ways.push_back({cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]});
    }
    return ways;
}

}  // namespace

TEST_CASE("ukemi: what makes a result mean nothing is said, and --strict refuses it", "[cli]") {
    const fs::path source = fs::path(UKEMI_SOURCE_DIR) / "tests/cli/doubtful";
    const ScratchFolder scratch;
    for (const auto& entry : fs::directory_iterator(source)) {
        fs::copy_file(entry.path(), scratch.path() / entry.path().filename());
    }
    const json base = json::parse(text_in(source / "base.json"));
    const std::vector<Way> ways = all_ways(source);
    CHECK(ways.size() >= 50);
    for (const Way& way : ways) {
        CAPTURE(way.name);
        json document = base;
        document.merge_patch(json::parse(way.patch));
        write_file(scratch.path() / "base.json", document.dump());
        std::vector<std::string> arguments{way.command, "base.json"};
        if (way.options != "-") {
            for (const std::string& one : parts_of(way.options, '|')) arguments.push_back(one);
        }
        arguments.emplace_back("--json");
        const Ran ran = run_ukemi(scratch.path(), arguments);
        CHECK_THAT(ran.err, Catch::Contains(way.text));
        const bool warns = way.outcome == "warning";
        CHECK(ran.code == (warns ? 0 : 2));
        CHECK(warns == (ran.err.rfind("warning: ", 0) == 0));
        if (!warns) continue;
        const json warnings = json::parse(ran.out).at("warnings");
        CHECK_THAT(warnings.dump(), Catch::Contains(json(way.text).dump().substr(1, 20)));
        arguments.emplace_back("--strict");
        const Ran strict = run_ukemi(scratch.path(), arguments);
        CHECK(strict.code == 2);
        CHECK(strict.out.empty());
        CHECK_THAT(strict.err, Catch::StartsWith("ukemi: --strict: "));
    }
    write_file(scratch.path() / "base.json", base.dump());
    const Ran plain = run_ukemi(scratch.path(), {"replay", "base.json", "--json", "--strict"});
    CHECK(plain.code == 0);
    CHECK(plain.err.empty());
}

}  // namespace ukemi
