#include "analysis/compared_runs.hpp"

#include "analysis/learning_lines.hpp"
#include "analysis/phase_means.hpp"
#include "analysis/variation_figures.hpp"
#include "records/run_json.hpp"

namespace ukemi::analysis {

ComparedRuns compare_runs(std::span<const records::RunResult> results, std::string_view baseline) {
    ComparedRuns compared{candidates_of(results), {}};
    if (!baseline.empty()) compared.pairs = pairs_with(results, baseline);
    return compared;
}

plots::FigureResult write_compared(OutputFolder& folder, const ReplayInputs& inputs,
                                   std::span<const records::RunResult> results,
                                   const ComparedRuns& compared,
                                   const plots::FigureOptions& options) {
    folder.write("run.json", run_json(inputs));
    folder.write("summary.csv", records::runs_csv(results));
    folder.write("compare.csv", comparison_csv(compared.candidates, compared.pairs));
    folder.write("compare.json",
                 comparison_json(compared.candidates, compared.pairs, inputs.warnings));
    plots::FigureInput input;
    input.learning = learning_runs(results);
    input.transitions = transition_rows(phase_means(results));
    input.variations = variations_of(results);
    const plots::FigureResult figures = plots::draw_all(input, folder.staging(), options);
    folder.commit();
    return folder.settled(figures);
}

}  // namespace ukemi::analysis
