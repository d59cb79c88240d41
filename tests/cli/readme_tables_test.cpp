// readme_tables_test.cpp — tables of pages have a row for each thing that `ukemi list` shows.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/read_file.hpp"
#include "kernels/codec.hpp"
#include "plots/figures.hpp"
#include "traces/reader.hpp"

using namespace ukemi;

namespace {

// Names of the first column that stand in no row, such as | `name` | or | `one`, `other` |.
template <class Entries>
std::vector<std::string> without_row(const char* page, const Entries& entries) {
    const std::string text = read_file(std::filesystem::path(UKEMI_SOURCE_DIR) / page);
    std::string first_columns;
    for (std::size_t at = text.find("\n| "); at != std::string::npos;
         at = text.find("\n| ", at + 1)) {
        first_columns += text.substr(at, text.find(" |", at + 3) - at);
    }
    std::vector<std::string> missing;
    for (const auto& entry : entries) {
        if (first_columns.find(fmt::format("`{}`", entry.name)) == std::string::npos) {
            missing.emplace_back(entry.name);
        }
    }
    return missing;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("readme tables: every figure, trace form and codec has its row", "[readme]") {
    CHECK(without_row("plots/README.md", plots::all_figures()) == Names{});
    CHECK(without_row("traces/README.md", traces::all_trace_forms()) == Names{});
    CHECK(without_row("kernels/codecs/README.md", kernels::all_codecs()) == Names{});
}
