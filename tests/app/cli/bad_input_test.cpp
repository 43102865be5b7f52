/// Every invalid request: exit status 2, exactly one line on standard error that names what is
/// wrong, nothing on standard output, no file left behind.
#include <gtest/gtest.h>

#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

using test::expect_refused;

struct BadRequest {
  std::string name;
  std::string words;
  std::string part;  ///< a part of the message
};

std::string name_of(const ::testing::TestParamInfo<BadRequest>& info) {
  return info.param.name;
}

void PrintTo(const BadRequest& request, std::ostream* os) {
  *os << request.words;
}

class BadInput : public ::testing::TestWithParam<BadRequest> {};

TEST_P(BadInput, IsRefusedWithOneClearLine) {
  const ScratchFolder scratch;
  const CliOutcome outcome = run_cli(GetParam().words, without_gpu(), scratch.path());
  expect_refused(outcome, GetParam().part);
  EXPECT_TRUE(scratch.names().empty()) << scratch.names().front();
}

const std::string kSimulate = "simulate --algorithm flash2 --json out.json --csv out.csv ";

INSTANTIATE_TEST_SUITE_P(
    Commands, BadInput,
    ::testing::Values(
        BadRequest{"NoCommand", "", "no command; known: simulate, run"},
        BadRequest{"OptionInPlaceOfAValue", "list gpus --json --csv", "--json needs a value"},
        BadRequest{"SecondOperand", "list gpus scenes", "list takes one word and options"},
        BadRequest{"UnknownCommand", "simulat --algorithm flash2", "did you mean 'simulate'?"},
        BadRequest{"TraceWithoutAFile", "trace --algorithm flash2", "--out is required"},
        BadRequest{"TraceOfTwoRuns", "trace --measured --recording flash2-forward-64 --out t.json",
                   "give one of them"},
        BadRequest{"TraceSwitchOfTheModel", "trace --algorithm flash2 --knob stages=1 --out t.json",
                   "--knob requires --measured"},
        BadRequest{"TraceFixedOrderOfTheModel",
                   "trace --algorithm flash2 --pass backward --deterministic --out t.json",
                   "--deterministic requires --measured"},
        BadRequest{"TraceSwitchOfARecording",
                   "trace --recording flash2-forward-64 --knob stages=1 --out t.json",
                   "--knob does not apply: --recording shows a saved run"},
        BadRequest{"TraceRowsOfARecording",
                   "trace --recording flash2-forward-64 --rows 1 --out t.json",
                   "--rows does not apply: --recording shows a saved run"},
        BadRequest{"TraceSwitchThatIsUnknown",
                   "trace --measured --algorithm flash2 --knob stage=1 --out t.json",
                   "did you mean 'stages'?"},
        BadRequest{"TraceSwitchOfTheOtherProgram",
                   "trace --measured --algorithm flash2 --knob partition=sliced-k --out t.json",
                   "add instructions=mma to run the other program"},
        BadRequest{"TraceRowsOfTheModel", "trace --algorithm flash2 --rows 1 --out t.json",
                   "--rows requires --measured"},
        BadRequest{"TheoremsOfNoPass", "io --pass sideways", "it must be forward or backward"},
        BadRequest{"TraceMeasuredOfBothPasses",
                   "trace --measured --algorithm flash2 --pass both --out t.json",
                   "forward or backward"},
        BadRequest{"TraceMeasuredOfCublas",
                   "trace --measured --algorithm standard --head-dim 32 --out t.json",
                   "its products are cuBLAS's"},
        BadRequest{"TraceMeasuredInAnOrder",
                   "trace --measured --algorithm flash2 --block-order shuffled --out t.json",
                   "the hardware chooses"},
        BadRequest{"TraceOfAnUnknownRecording", "trace --recording none-such --out t.json",
                   "none-such"},
        BadRequest{"TraceOfARecordingWithAnotherProblem",
                   "trace --recording flash2-forward-64 --seq-len 4 --out t.json",
                   "--seq-len does not apply: --recording"},
        BadRequest{"TraceOfARealRunInAVariant",
                   "trace --measured --algorithm standard --fusion pairs --out t.json",
                   "--fusion does not apply: it is an option of the model"},
        BadRequest{"TraceOfTooMuch", "trace --algorithm flash2 --seq-len 200000 --out t.json",
                   "at most 1000000"},
        BadRequest{"TraceInAnUnknownOrder",
                   "trace --algorithm flash2 --out t.json --block-order random",
                   "ascending, descending or shuffled"},
        BadRequest{"IoOverAnUnknownAxis", "io --over seqlen", "did you mean 'seq-len'?"},
        BadRequest{"IoOverText", "io --over seq-len=1k", "'1k', which is not a number"},
        BadRequest{"IoOverNothing", "io --over seq-len=", "'', which is not a number"},
        BadRequest{"IoOverAFraction", "io --over head-dim=0.5", "whole number"},
        BadRequest{"IoBeyondEveryMemory", "io --over sram-bytes=99999999999999",
                   "a whole number from 1 to 1099511627776"},
        BadRequest{"IoDensityAboveOne", "io --over density=1.5", "at most 1"},
        BadRequest{"IoWithoutAnElementOnChip", "io --over sram-bytes=1",
                   "sram-bytes 1 has no room for an element of fp16; give at least 2"},
        BadRequest{"IoOfBothPasses", "io --pass both", "forward or backward"},
        BadRequest{"IoOfAMask", "io --mask causal", "--mask"},
        BadRequest{"FitsWithNothingToFind", "fits --batch 2 --seq-len 64", "cannot be combined"},
        BadRequest{"FitsWithoutLayers", "fits --layers 0", "--layers is '0'"},
        BadRequest{"FitsInAnUnknownMode", "fits --mode tuning", "training or inference"},
        BadRequest{"FitsOfUnevenHeads", "fits --heads 6 --kv-heads 4", "must divide"},
        BadRequest{"FlopsOfATypeUnknown", "flops --dtype fp8", "fp16, bf16 or fp32"},
        BadRequest{"FusionOfAnAlgorithm", "fusion --algorithm flash2", "--algorithm"},
        BadRequest{"FusionOfFigure2WithTooFewKeyLengths", "fusion --key-lengths 5",
                   "one for each entry"},
        BadRequest{"ListWithoutWhat", "list", "known: algorithms, kernels, gpus"},
        BadRequest{"ListOfUnknown", "list gpu", "did you mean 'gpus'?"},
        BadRequest{"ListOfTwo", "list gpus kernels", "unexpected argument"},
        BadRequest{"StrayWord", kSimulate + "now", "unexpected argument 'now'"},
        BadRequest{"StrayDashes", kSimulate + "--", "unexpected argument '--'"},
        BadRequest{"ShortOption", kSimulate + "-N 4", "unexpected argument '-N'"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Options, BadInput,
    ::testing::Values(
        BadRequest{"NoAlgorithm", "simulate", "--algorithm is required"},
        BadRequest{"UnknownAlgorithm", "simulate --algorithm flash3", "did you mean 'flash1'?"},
        BadRequest{"AlgorithmInCapitals", "simulate --algorithm FLASH2", "did you mean 'flash2'?"},
        BadRequest{"UnknownOption", kSimulate + "--seqlen 4", "did you mean '--seq-len'?"},
        BadRequest{"AbbreviatedOption", kSimulate + "--seq 4", "unknown option '--seq'"},
        BadRequest{"OptionWithoutValue", kSimulate + "--seq-len",
                   "error: --seq-len needs a value; see attnscope-cli simulate --help"},
        BadRequest{"SwitchWithValue", kSimulate + "--check=maybe", "check"},
        BadRequest{"OptionTwice", kSimulate + "--seq-len 4 --seq-len 8", "given 2 times"},
        BadRequest{"SwitchTwice", kSimulate + "--check --check", "given 2 times"},
        BadRequest{"AlgorithmTwice", "simulate --algorithm flash2 --algorithm flash1",
                   "given 2 times"},
        BadRequest{"OptionOfCompare", kSimulate + "--recording x", "is an option of compare"},
        BadRequest{"OptionOfMeasure", kSimulate + "--repeats 3", "is an option of measure"},
        BadRequest{"OptionOfSweep", kSimulate + "--over a=b", "is an option of sweep"},
        BadRequest{"OptionOfSimulateInList", "list gpus --seq-len 4", "is an option of simulate"},
        BadRequest{"OptionOfSimulateInRun", "run --algorithm flash2 --round-to-storage",
                   "is an option of simulate"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Numbers, BadInput,
    ::testing::Values(
        BadRequest{"Zero", kSimulate + "--seq-len 0", "--seq-len is '0'"},
        BadRequest{"Negative", kSimulate + "--seq-len -5", "--seq-len is '-5'"},
        BadRequest{"NegativeWithEquals", kSimulate + "--heads=-1", "--heads is '-1'"},
        BadRequest{"Plus", kSimulate + "--seq-len +5", "--seq-len is '+5'"},
        BadRequest{"Exponent", kSimulate + "--seq-len 1e3", "whole number from 1 to 134217728"},
        BadRequest{"Fraction", kSimulate + "--seq-len 1.5", "--seq-len is '1.5'"},
        BadRequest{"Letters", kSimulate + "--seq-len 12abc", "--seq-len is '12abc'"},
        BadRequest{"Hexadecimal", kSimulate + "--seq-len 0x40", "--seq-len is '0x40'"},
        BadRequest{"Overflow", kSimulate + "--seq-len 99999999999999999999", "whole number"},
        BadRequest{"JustTooLong", kSimulate + "--seq-len 134217729", "from 1 to 134217728"},
        BadRequest{"ZeroBatch", kSimulate + "--batch 0", "--batch is '0'"},
        BadRequest{"ZeroHeads", kSimulate + "--heads 0", "--heads is '0'"},
        BadRequest{"ZeroKvHeads", kSimulate + "--kv-heads 0", "--kv-heads is '0'"},
        BadRequest{"ZeroKvLen", kSimulate + "--kv-len 0", "--kv-len is '0'"},
        BadRequest{"ZeroHeadDim", kSimulate + "--head-dim 0", "--head-dim is '0'"},
        BadRequest{"HugeHeadDim", kSimulate + "--head-dim 4097", "from 1 to 4096"},
        BadRequest{"HugeHeads", kSimulate + "--heads 1048577", "from 1 to 1048576"},
        BadRequest{"ZeroBlockRows", kSimulate + "--block-rows 0", "--block-rows is '0'"},
        BadRequest{"NegativeBlockCols", kSimulate + "--block-cols -16", "--block-cols is '-16'"},
        BadRequest{"ZeroSram", kSimulate + "--sram-bytes 0", "--sram-bytes is '0'"},
        BadRequest{"SramWithUnit", kSimulate + "--sram-bytes 64KB", "--sram-bytes is '64KB'"},
        BadRequest{"ZeroL2", kSimulate + "--l2-bytes 0", "--l2-bytes is '0'"},
        BadRequest{"NegativeSeed", kSimulate + "--seed -1", "--seed is '-1'"},
        BadRequest{"SeedBeyond64Bits", kSimulate + "--seed 18446744073709551616",
                   "a whole number from 0 to 18446744073709551615"},
        BadRequest{"DropoutSeedBeyond64Bits",
                   kSimulate + "--dropout 0.1 --dropout-seed 18446744073709551616",
                   "a whole number from 0 to 18446744073709551615"},
        BadRequest{"SeedText", kSimulate + "--seed lucky", "--seed is 'lucky'"},
        BadRequest{"ZeroRepeats", "measure --algorithm flash2 --repeats 0", "--repeats is '0'"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Values, BadInput,
    ::testing::Values(
        BadRequest{"UnknownPass", kSimulate + "--pass sideways", "forward, backward or both"},
        BadRequest{"BackwardPassInFp32", "run --algorithm flash1 --pass both --dtype fp32",
                   "takes fp16 or bf16"},
        BadRequest{"BothPassesAtAPointOfASweep",
                   "sweep --over seq-len=16 -- measure --algorithm flash2 --pass both",
                   "--over pass=forward,backward"},
        BadRequest{"UnknownType", kSimulate + "--dtype fp8", "fp16, bf16 or fp32"},
        BadRequest{"UnknownMask", kSimulate + "--mask casual", "none, causal"},
        BadRequest{"HalfAWindow", kSimulate + "--mask window:4,", "window:LEFT,RIGHT"},
        BadRequest{"AccuracyOfOneOrder", "accuracy --orders 1", "from 2 to 1000"},
        BadRequest{"AccuracyLengthText", "accuracy --seq-len 64,many", "--seq-len is 'many'"},
        BadRequest{"AccuracyType", "accuracy --dtype fp16,fp8",
                   "--dtype is 'fp8'; it must be fp16, bf16 or fp32"},
        BadRequest{"AccuracyCarry", "accuracy --carry fp32,bf16", "--carry is 'bf16'"},
        BadRequest{"AccuracyOfBothPasses", "accuracy --pass both", "forward or backward"},
        BadRequest{"AccuracyBeyondTheMemory", "accuracy --seq-len 100000", "GB of memory"},
        BadRequest{"WindowOfZero", kSimulate + "--mask window:0", "window:KEYS (at least 1)"},
        BadRequest{"SoftCapOfZero", kSimulate + "--softcap 0", "softcap is 0; it must be"},
        BadRequest{"SoftCapText", kSimulate + "--softcap high", "a number above 0"},
        BadRequest{"DropoutOfOne", kSimulate + "--dropout 1", "less than 1"},
        BadRequest{"NegativeDropout", kSimulate + "--dropout -0.1", "at least 0"},
        BadRequest{"DropoutNan", kSimulate + "--dropout nan", "less than 1"},
        BadRequest{"DropoutText", kSimulate + "--dropout 0.1x", "--dropout is '0.1x'"},
        BadRequest{"DropoutSeedAlone", kSimulate + "--dropout-seed 3", "without --dropout"},
        BadRequest{"KeyLengthBeyondTheKeys", kSimulate + "--seq-len 8 --key-lengths 9",
                   "between 0 and --kv-len"},
        BadRequest{"KeyLengthsForAnotherBatch", kSimulate + "--key-lengths 9,8",
                   "one for each entry"},
        BadRequest{"KeyLengthsText", kSimulate + "--key-lengths 9,,8", "--key-lengths is '9,,8'"},
        BadRequest{"DescendingBoundaries",
                   kSimulate + "--cu-seqlens-q 0,9,5,12 --cu-seqlens-k 0,4,8,12",
                   "must not decrease"},
        BadRequest{"BoundariesOfOneSide", kSimulate + "--cu-seqlens-q 0,9", "cu-seqlens-k has 0"},
        BadRequest{"BoundariesThatEndEarly",
                   kSimulate + "--seq-len 10 --cu-seqlens-q 0,9 --cu-seqlens-k 0,9",
                   "must end with --seq-len"},
        BadRequest{"PackedSequencesInABatch",
                   kSimulate + "--batch 2 --cu-seqlens-q 0,9 --cu-seqlens-k 0,9",
                   "packed into one entry"},
        BadRequest{"SoftCapOfAKernel", "run --algorithm flash1 --dtype fp32 --softcap 30",
                   "the problem has softcap 30"},
        BadRequest{"WindowBelowMinusOne", kSimulate + "--mask window:-2,0", "window:LEFT,RIGHT"},
        BadRequest{"UnknownCarry", kSimulate + "--carry fp64", "problem or fp32"},
        BadRequest{"OutputGradientOfTheForwardPass", kSimulate + "--do do.npy", "backward or both"},
        BadRequest{"OutputGradientOfAForwardMeasurement", "measure --algorithm flash2 --do do.npy",
                   "backward or both"},
        BadRequest{
            "OwnTensorsBeyondTheMemory",
            "measure --algorithm flash2 --seq-len 1 --kv-len 90000000 --head-dim 256 --q q.npy",
            "of memory"},
        BadRequest{"NumbersBeyondTheMemory", kSimulate + "--seq-len 60000 --check", "GB of memory"},
        BadRequest{"GradientsBeyondTheMemory",
                   kSimulate + "--pass backward --seq-len 1 --kv-len 90000000 --head-dim 1 --check",
                   "need 10 GB of memory"},
        BadRequest{"UnknownTilingRule", kSimulate + "--tiling papers", "did you mean 'paper'?"},
        BadRequest{"TilingOfAKernelThatIsNot", kSimulate + "--tiling kernel --head-dim 300",
                   "--tiling kernel: --head-dim is 300; kernel flash2 takes 1 to 256"},
        BadRequest{"UnknownFusion", "simulate --algorithm standard --fusion loose",
                   "separate, figure2, pairs or rows"},
        BadRequest{"FusionOfFlash2", kSimulate + "--fusion pairs", "is for standard"},
        BadRequest{"CheckpointOfFlash2", kSimulate + "--checkpoint", "is for standard"},
        BadRequest{"DOnceOfFlash2", kSimulate + "--d-once", "is for flash1"},
        BadRequest{"FirstReadsOfStandard", "simulate --algorithm standard --skip-first-reads",
                   "is for flash1"},
        BadRequest{"CarryOfFlash2", kSimulate + "--carry fp32", "is for flash1"},
        BadRequest{"UnknownInputs", kSimulate + "--inputs random", "gaussian, outlier or needle"},
        BadRequest{"UnknownGpu", kSimulate + "--gpu h20", "did you mean 'h200'?"},
        BadRequest{"GpuWithoutAnyLikeness", kSimulate + "--gpu abacus", "known: a100-40gb"},
        BadRequest{"MissingGpuFile", kSimulate + "--gpu ./none.json", "no such file"},
        BadRequest{"UnknownGpuBesideARun", "run --algorithm flash2 --gpu h20", "did you mean"},
        BadRequest{"UnknownGpuBesideAMeasurement", "measure --algorithm flash2 --gpu h20",
                   "did you mean"},
        BadRequest{"ChecksThatContradict", "measure --algorithm flash2 --check --checked-rows 4",
                   "contradict"},
        BadRequest{"UnknownCache", "measure --algorithm flash2 --cache hot", "cold or warm"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Together, BadInput,
    ::testing::Values(
        BadRequest{"HeadsNotAMultiple", kSimulate + "--heads 6 --kv-heads 4",
                   "--kv-heads must divide --heads"},
        BadRequest{"MoreKvHeadsThanHeads", kSimulate + "--heads 2 --kv-heads 4",
                   "--kv-heads must divide --heads"},
        BadRequest{"BlockRowsDoNotFit",
                   kSimulate + "--seq-len 8192 --block-rows 4096 --block-cols 64",
                   "--allow-overflow"},
        BadRequest{"BlockColsDoNotFit",
                   kSimulate + "--seq-len 8192 --block-rows 64 --block-cols 4096",
                   "--allow-overflow"},
        BadRequest{"KernelWithoutHeadDim", "run --algorithm flash2 --head-dim 300",
                   "takes 1 to 256"},
        BadRequest{"NoOrderOfTilesInAWindow",
                   "run --algorithm flash2 --pass backward --deterministic --mask window:3,3",
                   "with deterministic dQ"},
        BadRequest{"NoOrderOfListedTiles",
                   "measure --algorithm block_sparse2 --pass backward --deterministic",
                   "in an arbitrary order"},
        BadRequest{"KernelWithoutTiling", "run --algorithm flash2 --block-rows 40 --block-cols 48",
                   "multiples of 16 up to 256"},
        BadRequest{"BothOnStandardOutput", "simulate --algorithm flash2 --json - --csv -",
                   "both write to standard output"},
        BadRequest{"OneFileTwice", "simulate --algorithm flash2 --json a --csv ./a", "two files"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Outputs, BadInput,
    ::testing::Values(
        BadRequest{"JsonFolderMissing", "simulate --algorithm flash2 --json none/a.json",
                   "its folder does not exist"},
        BadRequest{"JsonIsAFolder", "simulate --algorithm flash2 --json .", "it is a folder"},
        BadRequest{"CsvFolderMissing", "list gpus --csv none/a.csv", "its folder does not exist"},
        BadRequest{"JsonInProc", "simulate --algorithm flash2 --json /proc/a.json", "--json"},
        BadRequest{"JsonNameTooLong", "simulate --algorithm flash2 --json " + std::string(300, 'a'),
                   "--json"},
        BadRequest{"OutInProc", "simulate --algorithm flash2 --seq-len 16 --out /proc/a", "--out"},
        BadRequest{"OutUnderAFile", "simulate --algorithm flash2 --out /dev/null/a", "--out"},
        BadRequest{"OutIsAFile", "simulate --algorithm flash2 --out /dev/null", "not a folder"},
        BadRequest{"NumbersOnStandardOutput", "simulate --algorithm flash2 --seq-len 16 --out -",
                   "several files cannot go to standard output"},
        BadRequest{"TensorsOnStandardOutput", "run --algorithm flash2 --seq-len 16 --out -",
                   "several files cannot go to standard output"},
        BadRequest{"RecordingOnStandardOutput", "measure --algorithm flash2 --out -",
                   "--json - for standard output"},
        BadRequest{"RecordingInADevice", "measure --algorithm flash2 --out /dev/null",
                   "no measurement can be added"},
        BadRequest{"RecordingIsAFolder", "measure --algorithm flash2 --out .", "it is a folder"},
        BadRequest{"TracesThatMix", "trace --measured --algorithm flash2 --save - --out -",
                   "both write to standard output"},
        BadRequest{"RecordingFolderMissing", "measure --algorithm flash2 --out none/a.json",
                   "its folder does not exist"},
        BadRequest{"ReportFolderMissing", "compare --recording x.json --report none/a.md",
                   "its folder does not exist"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Sweeps, BadInput,
    ::testing::Values(
        BadRequest{"NoCommand", "sweep --over seq-len=1,2", "sweep needs --"},
        BadRequest{"OtherCommand", "sweep --over seq-len=1 -- list gpus", "simulate|measure"},
        BadRequest{"NoLists", "sweep -- simulate --algorithm flash2", "--over is required"},
        BadRequest{"NoValues", "sweep --over seq-len -- simulate --algorithm flash2",
                   "has no values"},
        BadRequest{"EmptyValue", "sweep --over seq-len=1,,2 -- simulate --algorithm flash2",
                   "empty value"},
        BadRequest{"NothingAfterEquals", "sweep --over seq-len= -- simulate --algorithm flash2",
                   "empty value"},
        BadRequest{"UnknownKey", "sweep --over seqlen=1,2 -- simulate --algorithm flash2",
                   "did you mean 'seq-len'?"},
        BadRequest{"KeyWithoutAName", "sweep --over =1 -- simulate --algorithm flash2",
                   "unknown key of --over ''; known: algorithm"},
        BadRequest{"KeyTwice", "sweep --over heads=1 --over heads=2 -- simulate --algorithm flash2",
                   "given twice"},
        BadRequest{"KeyAlsoGiven", "sweep --over heads=1 -- simulate --algorithm flash2 --heads 2",
                   "given 2 times"},
        BadRequest{"ValueThatIsNoNumber",
                   "sweep --json o --over seq-len=16,1e3 -- simulate --algorithm flash2", "'1e3'"},
        BadRequest{"ValueThatIsNoAlgorithm",
                   "sweep --json o --over algorithm=flash1,flash9 -- simulate", "flash9"},
        BadRequest{"JsonInside", "sweep --over heads=1 -- simulate --algorithm flash2 --json a",
                   "belongs before the --"},
        BadRequest{"KeyOfLists", "sweep --over cu-seqlens-q=0,5,10 -- simulate --algorithm flash2",
                   "each of its values is a list"},
        BadRequest{"SweptRecordingOnStandardOutput",
                   "sweep --over seq-len=16,32 -- measure --algorithm flash2 --out -",
                   "--json - for standard output"},
        BadRequest{"OneFolderForAllPoints",
                   "sweep --over seq-len=8,16 -- simulate --algorithm flash2 --out results",
                   "replace the files of the previous one"},
        BadRequest{"TooManyPoints",
                   "sweep --over seed=1,2,3,4,5,6,7,8,9,10 --over heads=1,2,3,4,5,6,7,8,9,10 "
                   "--over batch=1,2,3,4,5,6,7,8,9,10 --over seq-len=1,2,3,4,5,6,7,8,9,10 "
                   "--over kv-len=1,2,3,4,5,6,7,8,9,10 --over head-dim=1,2,3,4,5,6,7,8,9,10 "
                   "-- simulate --algorithm flash2",
                   "more than 100000 points"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Recordings, BadInput,
    ::testing::Values(BadRequest{"NoRecording", "compare", "--recording is required"},
                      BadRequest{"UnknownRecording", "compare --recording h2000", "h2000"},
                      BadRequest{"MissingFile", "compare --recording none.json", "no such file"},
                      BadRequest{"BadFilter", "compare --recording x.json --seq-len 0",
                                 "--seq-len is '0'"}),
    name_of);

TEST(BadText, EmptyAndStrangeValuesAreRefused) {
  for (const std::string& value :
       {std::string(), std::string(" "), std::string("12 "), std::string("1\n2"),
        std::string("\x1b[31m"), std::string(100'000, '9')}) {
    expect_refused(run_cli({"simulate", "--algorithm", "flash2", "--seq-len", value}), "--seq-len");
    expect_refused(run_cli({"simulate", "--algorithm", value}), "algorithm");
  }
}

TEST(BadText, AnEmptyStepIsNotANumberOfRows) {
  const std::vector<std::string> words = {"trace",  "--measured", "--algorithm", "flash2",
                                          "--rows", "",           "--out",       "t.json"};
  expect_refused(run_cli(words, without_gpu()), "--rows is ''");
}

TEST(BadText, EmptyFileNamesAreRefused) {
  for (const std::string option : {"--json", "--csv", "--out"}) {
    expect_refused(run_cli({"simulate", "--algorithm", "flash2", option, ""}), "name is empty");
  }
}

TEST(BadOutput, AnExistingFileSurvivesARefusedRequest) {
  const ScratchFolder scratch;
  const std::string file = scratch.write("kept.json", "precious");
  expect_refused(run_cli("simulate --algorithm flash2 --seq-len 0 --json " + file), "--seq-len");
  expect_refused(run_cli("simulate --algorithm flash2 --heads 3 --kv-heads 2 --json " + file),
                 "kv-heads");
  EXPECT_EQ(read_text(file), "precious");
  EXPECT_EQ(scratch.names(), std::vector<std::string>{"kept.json"});
}

}  // namespace
}  // namespace attnscope
