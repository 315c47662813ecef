import { needsOneQueue } from '../../topology/deviceQueues';
import { changeFix, removeFix, setFix } from '../fixes';
import { job, type Rule, VALIDATE_ARGS } from '../rule';

const VARIABLE = 'CUDA_DEVICE_MAX_CONNECTIONS';

export const deviceConnections: Rule = {
  code: 'device-connections',
  severity: 'error',
  title: 'CUDA_DEVICE_MAX_CONNECTIONS does not suit the parallelism',
  what: 'The file writes `environment`, and there `CUDA_DEVICE_MAX_CONNECTIONS` is not 1 though tensor or context parallelism is on (GPUs before Blackwell), or it is 1 under FSDP. A warning where the file was imported and names no `cluster.gpu`.',
  why: 'With one queue to the GPU the communication of tensor and context parallelism starts before the computation that hides it. FSDP needs more than one queue to run both at a time.',
  failing: job(8, 'tp: 2', 'environment: {CUDA_DEVICE_MAX_CONNECTIONS: 8}'),
  sources: [VALIDATE_ARGS],
  *check(facts) {
    const { environment, fsdp } = facts.root;
    const field = environment.value?.CUDA_DEVICE_MAX_CONNECTIONS;
    if (!field || (field.written && field.value === undefined)) {
      return;
    }
    const { tp = 1, cp = 1 } = facts.modules[0]?.degrees ?? {};
    const gpu = facts.root.cluster.value?.gpu.value ?? '';
    const overlapsExperts = facts.root.moe.value?.overlap_moe_expert_parallel_comm.value === true;
    const isTorch = fsdp.value?.torch_fsdp2.value === true;
    const isMegatron = fsdp.value?.enabled.value === true;
    const isOther = facts.framework?.rules.megatron === 'none';
    if (isTorch || isMegatron || isOther) {
      // other frameworks than Megatron-LM refuse nothing: FSDP only waits for the computation in front of it
      if (field.value === 1 && (isTorch || !isOther)) {
        yield {
          message: `${isTorch ? 'torch_fsdp2' : 'Megatron-FSDP'} needs more than one queue to the GPU. Use ${VARIABLE} 8, or leave it out.`,
          span: field.span,
          ...(isOther && { severity: 'warning' }),
          predicts: isOther
            ? null
            : isTorch
              ? 'FSDP always requires CUDA_DEVICE_MAX_CONNECTIONS value large than one'
              : 'FSDP requires CUDA_DEVICE_MAX_CONNECTIONS > 1 or unset.',
          fixes: [changeFix(VARIABLE, field, 8), removeFix(facts.text, VARIABLE, field)],
        };
      }
    } else if (field.value !== 1 && needsOneQueue({ tp, cp, gpu, overlapsExperts })) {
      // a launch file rarely says on which GPUs it runs
      const isOpen = facts.root.launch.written && !facts.root.cluster.value?.gpu.written;
      yield {
        severity: isOpen ? 'warning' : 'error',
        message: `Tensor and context parallelism need one queue to the GPU before Blackwell. Use ${VARIABLE} 1.`,
        span: field.written ? field.span : environment.keySpan,
        predicts:
          'Using tensor model parallelism or context parallelism require setting the environment variable CUDA_DEVICE_MAX_CONNECTIONS to 1',
        fixes: [setFix(facts.text, environment.span, VARIABLE, field, 1)],
      };
    }
  },
};
