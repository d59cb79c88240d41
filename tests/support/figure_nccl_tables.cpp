// figure_nccl_tables.cpp — nccl-tests' all-reduces as the figures of scenarios/published have them.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/read_file.hpp"
#include "sim/cluster/fabric.hpp"
#include "tests/support/nccl_tables.hpp"

namespace ukemi::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// One line of a figure. What stands in brackets behind the name of its run is the source.
NcclTable table_of_line(const json& line, const json& runs) {
    const json& run = *std::ranges::find_if(
        runs, [&](const json& one) { return one.at("name") == line.at("run"); });
    const json& set = run.at("set");
    const json& cluster = set.at("/cluster");
    const json& values = line.at("values").at(0);
    NcclTable table;
    table.name = line.at("name").get<std::string>();
    table.source = line.at("run").get<std::string>().substr(table.name.size());
    table.kept_aside = table.source.ends_with("; kept aside)");
    table.fitted = values.at("role") == "fitted";
    table.machine = cluster.at("machine").get<std::string>();
    table.machines = cluster.at("count").get<std::int32_t>();
    const std::size_t workers = set.contains("/job/machines")
                                    ? set.at("/job/machines").size()
                                    : sim::build_cluster(table.machine, 1).workers().size() *
                                          static_cast<std::size_t>(table.machines);
    table.per_machine = static_cast<std::int32_t>(workers) / table.machines;
    for (std::size_t i = 0; i < line.at("published_at").size(); ++i) {
        table.rows.push_back({mebibytes(line.at("published_at").at(i).get<std::int64_t>()),
                              values.at("published").at(i).get<double>() / 1e6});
    }
    return table;
}

}  // namespace

std::vector<NcclTable> figure_nccl_tables() {
    std::vector<fs::path> figures;
    for (const auto& entry : fs::directory_iterator(UKEMI_SOURCE_DIR "/scenarios/published")) {
        if (entry.path().filename().string().starts_with("nccl_")) figures.push_back(entry.path());
    }
    std::ranges::sort(figures);
    std::vector<NcclTable> all;
    for (const fs::path& path : figures) {
        const json figure = json::parse(read_text_file(path), nullptr, true, true);
        for (const json& line : figure.at("lines")) {
            all.push_back(table_of_line(line, figure.at("runs")));
        }
    }
    return all;
}

}  // namespace ukemi::test
